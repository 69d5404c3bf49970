/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sparse.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096

static bool all_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

static int write_all(int fd, const uint8_t *data, size_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, offset);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			return -EIO;
		data += n;
		len -= n;
		offset += n;
	}
	return 0;
}

static bool is_hole(int fd, uint64_t offset, size_t len)
{
	off_t at = lseek(fd, offset, SEEK_DATA);

	return at < 0 ? errno == ENXIO : (uint64_t)at >= offset + len;
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

int sparse_pwrite(int fd, const uint8_t *data, size_t len, uint64_t offset)
{
	while (len) {
		bool zero = false;
		size_t n = run_length(data, len, offset, &zero);

		if (!zero || !is_hole(fd, offset, n)) {
			int ret = write_all(fd, data, n, offset);

			if (ret)
				return ret;
		}
		data += n;
		len -= n;
		offset += n;
	}
	return 0;
}
