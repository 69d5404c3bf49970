/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/record_io.h"

#define BLOCK	    4096 /* of the file systems that volumes are on */
#define LEAST_BLOCK 1024 /* that they may have */

static uint64_t blocks_of(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* A filled directory is the clients' own: its record's times count until one changed a name.  Of
 * one that was normal before they never do: some doors still take it for normal, and show the
 * inode's.
 */
static bool shows_record_times(const struct migrate_record *rec, const struct stat *st)
{
	if (rec->flags & MIGRATE_REC_RETURNED)
		return false;
	return rec->state != MIGRATE_FILLED || migrate_ns(st->st_mtim) == migrate_record_mtime(rec);
}

static bool is_directory_stub(enum migrate_state state)
{
	return state == MIGRATE_UNFILLED || state == MIGRATE_FILLED;
}

/* Takes a set that is not empty. */
static int take_set(struct migrate_extents **to, struct migrate_extents *from)
{
	if (!from->n)
		return 0;
	*to = malloc(sizeof(**to));
	if (!*to)
		return -ENOMEM;
	**to = *from;
	*from = (struct migrate_extents)MIGRATE_EXTENTS_INIT;
	return 0;
}

/* Gives the stub the ranges that are to be asked for: what is missing and no client wrote. */
static int take_ranges(struct migrate_stub *stub, struct migrate_record *rec)
{
	int ret = migrate_extents_remove_all(&rec->missing, &rec->dirty);

	if (!ret)
		ret = take_set(&stub->dirty, &rec->dirty);
	if (!ret)
		ret = take_set(&stub->ranges, &rec->missing);
	if (stub->ranges)
		stub->missing_bytes = migrate_extents_bytes(stub->ranges);
	return ret;
}

static struct migrate_version version_of(const struct migrate_record *rec)
{
	/* a directory that has its record again has the inode's own number in it */
	const uint64_t fileid = rec->flags & MIGRATE_REC_RETURNED ? 0 : rec->fileid;

	return (struct migrate_version){fileid, rec->size, rec->mtime, rec->ctime};
}

static int error_of(int ret)
{
	return ret == -EBADMSG || ret == -ENOMEM ? ret : -EIO;
}

int migrate_stub_load(int fd, struct migrate_stub *stub)
{
	struct migrate_record rec;
	struct stat st;
	int ret = migrate_record_load_stat(fd, &rec, &st);

	memset(stub, 0, sizeof(*stub));
	if (ret == 0)
		return 0;
	/* Should the caller overlook the error: a dummy is never taken for whole. */
	stub->state = MIGRATE_DUMMY;
	if (ret < 0)
		return error_of(ret);
	ret = take_ranges(stub, &rec);
	if (ret == 0) {
		stub->state = rec.state;
		stub->error = rec.error;
		stub->size = is_directory_stub(rec.state) ? 0 : rec.size;
		stub->end = st.st_size;
		stub->nlink = rec.state == MIGRATE_UNFILLED ? rec.size : 0;
		stub->mtime = migrate_timespec(migrate_record_mtime(&rec));
		stub->ctime = migrate_timespec(migrate_record_ctime(&rec));
		stub->show_times = shows_record_times(&rec, &st);
		stub->version = version_of(&rec);
	}
	migrate_record_clear(&rec);
	return ret;
}

/* Makes *unit what may be lost together of the set's ranges in [start, end): a block, or less where
 * one of them ends in the middle of a block. */
static void note_unit(const struct migrate_stub *stub, const struct migrate_extents *set,
		      uint64_t start, uint64_t end, uint32_t *unit)
{
	struct migrate_extent e;

	for (; set && migrate_extents_next(set, start, &e) && e.start < end; start = e.end) {
		if (e.start % LEAST_BLOCK || (e.end % LEAST_BLOCK && e.end < stub->end))
			*unit = 1;
		else if (!*unit)
			*unit = LEAST_BLOCK;
	}
}

struct migrate_found migrate_stub_found(const struct migrate_stub *stub, uint64_t offset,
					uint64_t length)
{
	struct migrate_found found = {.version = stub->version};
	uint64_t end = offset + length < offset ? UINT64_MAX : offset + length;

	note_unit(stub, stub->ranges, offset, end, &found.unit);
	note_unit(stub, stub->dirty, offset, end, &found.unit);
	return found;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* Whether what was read holds a unit of zeros, or a part of one at its ends. */
static bool holds_zeros(const struct iovec *read, int count, uint64_t offset, uint64_t length,
			uint32_t unit)
{
	uint64_t start = offset;
	bool zeros = false; /* the unit, up to now */

	for (int i = 0; i < count && length; i++) {
		size_t len = read[i].iov_len < length ? read[i].iov_len : length, n;

		length -= len;
		for (const uint8_t *p = read[i].iov_base; len; p += n, len -= n, offset += n) {
			bool first = offset == start || offset % unit == 0;

			if (zeros && first)
				return true;
			n = unit - offset % unit;
			n = n < len ? n : len;
			zeros = (zeros || first) && all_zero(p, n);
		}
	}
	return zeros;
}

int migrate_read_confirm(int fd, const struct migrate_found *found, uint64_t offset,
			 const struct iovec *read, int count, uint64_t length)
{
	int ret = migrate_stub_confirm(fd, &found->version);

	if (ret == 1 && found->unit && holds_zeros(read, count, offset, length, found->unit))
		return MIGRATE_DOUBTFUL;
	return ret;
}

int migrate_stub_confirm(int fd, const struct migrate_version *found)
{
	struct migrate_record rec;
	struct migrate_version now;
	int ret = migrate_record_load(fd, &rec);

	if (ret <= 0)
		return ret < 0 ? error_of(ret) : 0;
	now = version_of(&rec);
	migrate_record_clear(&rec);
	return now.fileid == found->fileid && now.size == found->size &&
	       now.mtime == found->mtime && now.ctime == found->ctime;
}

void migrate_stub_clear(struct migrate_stub *stub)
{
	if (stub->ranges)
		migrate_extents_clear(stub->ranges);
	if (stub->dirty)
		migrate_extents_clear(stub->dirty);
	free(stub->ranges);
	free(stub->dirty);
	memset(stub, 0, sizeof(*stub));
}

bool migrate_stub_present(const struct migrate_stub *stub, uint64_t offset, uint64_t length)
{
	uint64_t end = offset + length < offset ? UINT64_MAX : offset + length;

	/* How much there is of a dummy is not known yet. */
	if (stub->state == MIGRATE_DUMMY)
		return length == 0;
	return !stub->ranges || !migrate_extents_overlap(stub->ranges, offset, end);
}

bool migrate_stub_dirty(const struct migrate_stub *stub)
{
	return stub->dirty;
}

uint64_t migrate_stub_space(const struct migrate_stub *stub, uint64_t size, uint64_t used)
{
	uint64_t most = blocks_of(size), missing = blocks_of(stub->missing_bytes);

	/* What was fetched counts as missing until it is durable, and takes space already. */
	if (used >= most)
		return used;
	return missing < most - used ? used + missing : most;
}

bool migrate_is_record(const char *xattr)
{
	return !strncmp(xattr, MIGRATE_XATTR, strlen(MIGRATE_XATTR));
}

bool migrate_stub_next_missing(const struct migrate_stub *stub, uint64_t offset, uint64_t *start,
			       uint64_t *end)
{
	struct migrate_extent found = {0, INT64_MAX};

	if (stub->state == MIGRATE_DUMMY) {
		if (offset >= found.end)
			return false;
	} else if (!stub->ranges || !migrate_extents_next(stub->ranges, offset, &found)) {
		return false;
	}
	*start = found.start;
	*end = found.end;
	return true;
}
