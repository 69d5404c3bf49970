/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/sparse.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/write_fully.h"

#define BLOCK 4096
/*
 * Written in one call.  The page cache takes folios as large as the write, and such large pieces
 * of memory are often ones that were not used yet: in a virtual machine, where the host provides
 * them at the first touch, a write of 1 MiB costs several times the CPU of eight of 128 KiB.
 */
#define PIECE ((size_t)128 << 10)

static bool all_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static int write_pieces(int fd, const uint8_t *data, size_t len, uint64_t offset)
{
	int ret = 0;

	for (size_t at = 0; !ret && at < len; at += PIECE)
		ret = write_fully(fd, data + at, MIN(PIECE, len - at), (off_t)(offset + at));
	return ret;
}

/* A run of zeros: written only where there is something else, maybe. */
static int clear_data(int fd, const uint8_t *zeros, size_t len, uint64_t offset)
{
	uint64_t end = offset + len, at = offset;
	int ret = 0;

	while (!ret && at < end) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		if ((uint64_t)data >= end)
			return 0;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		at = (uint64_t)hole < end ? (uint64_t)hole : end;
		ret = write_pieces(fd, zeros, at - data, data);
	}
	return ret;
}

/* The length of the run of blocks, from offset on, that are (or are not) zeros. */
static size_t run_length(const uint8_t *data, size_t len, uint64_t offset, bool *zero)
{
	size_t n = 0;

	while (n < len) {
		size_t block = BLOCK - (offset + n) % BLOCK;
		bool z;

		if (block > len - n)
			block = len - n;
		z = all_zero(data + n, block);
		if (n == 0)
			*zero = z;
		else if (z != *zero)
			break;
		n += block;
	}
	return n;
}

int sparse_pwrite(int fd, const uint8_t *data, size_t len, uint64_t offset,
		  struct migrate_extents *zeros)
{
	while (len) {
		bool zero = false;
		size_t n = run_length(data, len, offset, &zero);

		bool leave = zero && zeros;
		int ret =
			leave ? clear_data(fd, data, n, offset) : write_pieces(fd, data, n, offset);

		if (!ret && leave)
			ret = migrate_extents_add(zeros, offset, offset + n);
		if (ret)
			return ret;
		data += n;
		len -= n;
		offset += n;
	}
	return 0;
}

/* Handles bytes that are in the file already: the zeros among them count as if they had been
 * written. */
static int keep_sparse(int fd, const uint8_t *data, size_t len, uint64_t offset,
		       struct migrate_extents *zeros)
{
	int ret = 0;

	while (len && !ret) {
		bool zero = false;
		size_t n = run_length(data, len, offset, &zero);

		if (zero)
			ret = zeros ? migrate_extents_add(zeros, offset, offset + n)
				    : write_pieces(fd, data, n, offset);
		data += n;
		len -= n;
		offset += n;
	}
	return ret;
}

int sparse_correct(int fd, const uint8_t *data, size_t len, uint64_t offset,
		   struct migrate_extents *zeros)
{
	g_autofree uint8_t *here = g_malloc(PIECE);
	int corrected = 0;

	while (len) {
		size_t want = len < PIECE ? len : PIECE;
		ssize_t n = pread(fd, here, want, offset);
		bool same = n == (ssize_t)want && memcmp(here, data, want) == 0;
		int ret;

		if (n < 0 && errno == EINTR)
			continue;
		ret = (same ? keep_sparse : sparse_pwrite)(fd, data, want, offset, zeros);
		if (ret)
			return ret;
		corrected |= !same;
		data += want;
		len -= want;
		offset += want;
	}
	return corrected;
}

/* A file always ends with a hole; it may have become shorter just now. */
bool sparse_has_hole(int fd, uint64_t start, uint64_t end)
{
	off_t hole = lseek(fd, start, SEEK_HOLE);
	struct stat st;

	return hole >= 0 && (uint64_t)hole < end && fstat(fd, &st) == 0 && hole < st.st_size;
}
