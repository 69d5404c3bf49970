/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/content.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"

#define ABSENT_MS 15000
#define TURN_MS	  200
#define ROUNDS	  8
#define PIECE	  ((size_t)1 << 20)

struct content {
	char *name, *socket;
	struct migrate_volume *volume; /* NULL: not asked yet */
	const bool *stop;
	bool done;
	int status;
};

struct content *content_new(const char *volume, const char *socket, const bool *stop)
{
	struct content *content = g_new0(struct content, 1);

	content->name = g_strdup(volume);
	content->socket = g_strdup(socket);
	content->stop = stop;
	return content;
}

void content_free(struct content *content)
{
	if (!content)
		return;
	if (content->volume)
		migrate_volume_free(content->volume);
	g_free(content->name);
	g_free(content->socket);
	g_free(content);
}

static void take_status(void *arg, int status)
{
	struct content *content = arg;

	content->done = true;
	content->status = status;
}

static int fetch_whole(struct content *content, int fd, unsigned flags)
{
	struct timespec until = migrate_in_ms(ABSENT_MS);
	int given_up = 0;

	content->done = false;
	uint64_t request = migrate_fetch_range(content->volume, fd, 0, UINT64_MAX, flags,
					       take_status, content);
	if (!request)
		return -errno;
	while (!content->done) {
		int ret = migrate_volume_dispatch(content->volume, TURN_MS);

		if (migrate_volume_connected(content->volume))
			until = migrate_in_ms(ABSENT_MS);
		if (!content->done && !given_up &&
		    (ret == -EPROTO || *content->stop || migrate_passed(&until))) {
			given_up = *content->stop ? -ECANCELED : -ENOTCONN;
			migrate_cancel(content->volume, request);
		}
	}
	return given_up ? given_up : content->status;
}

/* 1: whole; 0: not yet; or -errno. */
static int is_whole(int fd)
{
	struct migrate_stub stub;
	int ret = migrate_stub_load(fd, &stub);

	if (!ret)
		ret = stub.state == MIGRATE_NORMAL ||
		      (migrate_stub_present(&stub, 0, UINT64_MAX) && !migrate_stub_dirty(&stub));
	migrate_stub_clear(&stub);
	return ret;
}

int content_fetch(struct content *content, int fd)
{
	int ret = is_whole(fd);

	if (!ret && !content->volume)
		ret = migrate_volume_new(content->name, content->socket, MIGRATE_ROLE_CRAWLER,
					 &content->volume);
	for (unsigned i = 0; i < ROUNDS && !ret; i++) {
		ret = fetch_whole(content, fd, 0);
		if (!ret || ret == -EAGAIN)
			ret = fetch_whole(content, fd, MIGRATE_DURABLE);
		if (!ret || ret == -EAGAIN)
			ret = is_whole(fd);
	}
	return ret > 0 ? 0 : ret ? ret : -EAGAIN;
}

/* ---- copying --------------------------------------------------------------------------------- */

static int copy_range(const struct content *content, int from, struct target_file *to, off_t at,
		      off_t end, uint64_t *bytes)
{
	g_autofree char *buffer = g_malloc(MIN(PIECE, (size_t)(end - at)));
	int ret = 0;

	while (at < end && !ret) {
		ssize_t got = pread(from, buffer, MIN(PIECE, (size_t)(end - at)), at);

		if (*content->stop)
			return -ECANCELED;
		if (got <= 0)
			return got ? -errno : -EAGAIN; /* shorter than it was */
		ret = target_file_write(to, buffer, (size_t)got, at);
		at += got;
		*bytes += (uint64_t)got;
	}
	return ret;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int content_copy(const struct content *content, int from, struct target_file *to, uint64_t *bytes)
{
	struct stat before, after;
	off_t at = 0, end = 0;
	int ret;

	if (fstat(from, &before) < 0)
		return -errno;
	ret = target_file_resize(to, 0);
	while (!ret && at < before.st_size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -errno;
		ret = copy_range(content, from, to, at, MIN(end, before.st_size), bytes);
		at = end;
	}
	if (at < 0 && errno != ENXIO)
		return -errno;
	if (!ret && end < before.st_size)
		ret = target_file_resize(to, before.st_size);
	if (ret || fstat(from, &after) < 0)
		return ret ? ret : -errno;
	return same(&before, &after) ? 0 : -EAGAIN;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* 1, 0 or -errno. */
static int same_range(int from, struct target_file *to, uint64_t at, uint64_t end, const bool *stop)
{
	g_autofree char *here = g_malloc(PIECE), *there = g_malloc(PIECE);

	while (at < end) {
		const ssize_t got = pread(from, here, MIN(PIECE, (size_t)(end - at)), (off_t)at);
		ssize_t has = 0;

		if (got < 0)
			return -errno;
		while (has < got) {
			ssize_t more = target_file_read(to, there + has, (size_t)(got - has),
							(off_t)at + has);

			if (more < 0)
				return (int)more;
			if (!more)
				break;
			has += more;
		}
		if (stop && *stop)
			return -ECANCELED;
		if (!got || has < got || memcmp(here, there, (size_t)got) != 0)
			return 0;
		at += (uint64_t)got;
	}
	return 1;
}

int content_same(int from, struct target_file *to, const bool *stop)
{
	struct migrate_stub stub = {0};
	uint64_t at = 0, size, start, end;
	struct stat st;
	int ret = fstat(from, &st) < 0 ? -errno : migrate_stub_load(from, &stub);

	if (ret < 0) {
		migrate_stub_clear(&stub);
		return ret;
	}
	size = (uint64_t)st.st_size;
	ret = !migrate_stub_dirty(&stub);
	while (ret == 1 && at < size) {
		if (!migrate_stub_next_missing(&stub, at, &start, &end))
			start = end = size;
		ret = same_range(from, to, at, MIN(MAX(start, at), size), stop);
		at = MAX(end, at);
	}
	migrate_stub_clear(&stub);
	return ret;
}
