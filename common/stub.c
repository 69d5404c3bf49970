/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record_io.h"

#define BLOCK 4096 /* of the file systems that volumes are on */

static uint64_t blocks_of(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

/* A filled directory is the clients' own: its record's times count until one changed a name. */
static bool shows_record_times(const struct migrate_record *rec, const struct stat *st)
{
	return rec->state != MIGRATE_FILLED || migrate_ns(st->st_mtim) == migrate_record_mtime(rec);
}

static bool is_directory(enum migrate_state state)
{
	return state == MIGRATE_UNFILLED || state == MIGRATE_FILLED;
}

/* Gives the stub the ranges that are to be asked for: what is missing and no client wrote. */
static int take_ranges(struct migrate_stub *stub, struct migrate_record *rec)
{
	int ret = migrate_extents_remove_all(&rec->missing, &rec->dirty);

	if (ret < 0 || !rec->missing.n)
		return ret;
	stub->ranges = malloc(sizeof(*stub->ranges));
	if (!stub->ranges)
		return -ENOMEM;
	*stub->ranges = rec->missing;
	rec->missing = (struct migrate_extents)MIGRATE_EXTENTS_INIT;
	stub->missing_bytes = migrate_extents_bytes(stub->ranges);
	return 0;
}

static struct migrate_version version_of(const struct migrate_record *rec)
{
	return (struct migrate_version){rec->fileid, rec->size, rec->mtime, rec->ctime};
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
		stub->size = is_directory(rec.state) ? 0 : rec.size;
		stub->nlink = rec.state == MIGRATE_UNFILLED ? rec.size : 0;
		stub->mtime = migrate_timespec(migrate_record_mtime(&rec));
		stub->ctime = migrate_timespec(migrate_record_ctime(&rec));
		stub->show_times = shows_record_times(&rec, &st);
		stub->version = version_of(&rec);
	}
	migrate_record_clear(&rec);
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
	free(stub->ranges);
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
