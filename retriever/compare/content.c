/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW	 ((uint32_t)1 << 20)
#define BLOCK	 4096
#define AHEAD	 4
#define PARTS	 16 /* reads of a window, where the old server takes short ones only */
#define PART_MIN (WINDOW / PARTS)

/* A read of the old server. */
struct part {
	struct asked asked;
	struct window *window;
	uint32_t at, len;
};

struct window {
	struct reading *reading;
	uint64_t offset;
	uint32_t len;
	uint8_t *there, *here;
	struct part parts[PARTS];
	/* reading->lock */
	unsigned pending;
};

struct reading {
	struct content *content;
	GMutex lock; /* a leaf */
	GCond ready;
	int fd;
	uint32_t part_len, window_len;
	struct window windows[AHEAD];
	struct proof_hash *hash;
};

struct disk {
	GThreadPool *pool; /* of struct window */
};

/* ---- this side ---- */

static void set_first_status(struct reading *reading, int *where, int status)
{
	g_mutex_lock(&reading->lock);
	if (!*where)
		*where = status;
	g_mutex_unlock(&reading->lock);
}

static void one_less(struct window *window)
{
	struct reading *reading = window->reading;

	g_mutex_lock(&reading->lock);
	if (--window->pending == 0)
		g_cond_broadcast(&reading->ready);
	g_mutex_unlock(&reading->lock);
}

/* -EINVAL: of a file system that takes O_DIRECT and not the read. */
static int read_here(struct reading *reading, struct window *window)
{
	const bool direct = !reading->content->cached;
	uint32_t got = 0;

	while (got < window->len) {
		size_t want = window->len - got;
		ssize_t n = pread(reading->fd, window->here + got,
				  direct ? (want + BLOCK - 1) / BLOCK * BLOCK : want,
				  window->offset + got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		got += MIN((size_t)n, want);
		if (n == 0 || (direct && got < window->len && got % BLOCK))
			return -ENODATA; /* it is shorter now */
	}
	return 0;
}

static void run_window(gpointer data, gpointer user)
{
	struct window *window = data;
	int ret = read_here(window->reading, window);

	if (ret)
		set_first_status(window->reading, &window->reading->content->here, ret);
	one_less(window);
}

struct disk *disk_new(unsigned threads)
{
	struct disk *disk = g_new0(struct disk, 1);

	/* exclusive: they are like the thread that makes them (thread.h) */
	disk->pool = g_thread_pool_new(run_window, NULL, threads, TRUE, NULL);
	return disk;
}

void disk_free(struct disk *disk)
{
	if (disk)
		g_thread_pool_free(disk->pool, FALSE, TRUE);
	g_free(disk);
}

/* Opens the file for reads from the disk: the page cache may differ from the disk. */
static int open_here(struct content *content)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC;
	int fd = openat(content->dir_fd, content->name, flags | O_DIRECT);

	content->cached = fd < 0 && errno == EINVAL;
	if (!content->cached)
		return fd < 0 ? -errno : fd;
	fd = openat(content->dir_fd, content->name, flags);
	if (fd < 0)
		return -errno;
	sync_file_range(fd, 0, 0,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

/* ---- the old server ---- */

static void part_done(struct asked *asked)
{
	struct part *part = (struct part *)asked;
	struct backend_request *req = &asked->req;
	struct reading *reading = part->window->reading;
	uint32_t got = req->status ? 0 : MIN(req->data_len, part->len);

	if (got)
		memcpy(part->window->there + part->at, req->data, got);
	part->at += got;
	part->len -= got;
	if (!req->status && part->len && got && !req->eof) {
		req->offset += got;
		req->count = part->len;
		asker_submit(asked->asker, asked, part_done);
		return;
	}
	if (req->status)
		set_first_status(reading, &reading->content->there, req->status);
	else if (part->len)
		set_first_status(reading, &reading->content->there, -ENODATA);
	one_less(part->window);
}

static void read_there(struct reading *reading, struct window *window, unsigned i, uint32_t at,
		       uint32_t len)
{
	struct part *part = &window->parts[i];

	memset(part, 0, sizeof *part);
	part->window = window;
	part->at = at;
	part->len = len;
	part->asked.req.op = BACKEND_READ;
	part->asked.req.object = *reading->content->object;
	part->asked.req.offset = window->offset + at;
	part->asked.req.count = len;
	asker_submit(reading->content->asker, &part->asked, part_done);
}

/* ---- both ---- */

static void begin_window(struct reading *reading, struct window *window, uint64_t offset)
{
	uint32_t len = MIN(reading->window_len, reading->content->size - offset);
	unsigned i = 0;

	window->reading = reading;
	window->offset = offset;
	window->len = len;
	window->pending = 1 + (len + reading->part_len - 1) / reading->part_len;
	for (uint32_t at = 0; at < len; at += reading->part_len)
		read_there(reading, window, i++, at, MIN(reading->part_len, len - at));
	g_thread_pool_push(reading->content->disk->pool, window, NULL);
}

/* Whether both sides have come. */
static bool await(struct reading *reading, struct window *window)
{
	bool whole;

	g_mutex_lock(&reading->lock);
	while (window->pending)
		g_cond_wait(&reading->ready, &reading->lock);
	whole = !reading->content->there && !reading->content->here;
	g_mutex_unlock(&reading->lock);
	return whole;
}

static void note_differences(struct content *content, const struct window *window)
{
	for (uint32_t i = 0; i < window->len; i++) {
		if (window->there[i] == window->here[i])
			continue;
		if (!content->differ++) {
			content->first = window->offset + i;
			content->zeros = true;
		}
		content->zeros &= !window->here[i];
	}
}

static void compare_window(struct reading *reading, const struct window *window)
{
	struct content *content = reading->content;

	if (memcmp(window->there, window->here, window->len) != 0)
		note_differences(content, window);
	proof_hash_add(reading->hash, window->here, window->len);
	if (content->bytes)
		__atomic_add_fetch(content->bytes, window->len, __ATOMIC_RELAXED);
}

static void read_all(struct reading *reading)
{
	const uint64_t size = reading->content->size;
	uint64_t begun = 0, done = 0;
	bool whole = true;

	while (done < begun || (whole && begun < size)) {
		struct window *window;

		for (;
		     whole && begun < size && begun - done < (uint64_t)AHEAD * reading->window_len;
		     begun += MIN(reading->window_len, size - begun))
			begin_window(reading,
				     &reading->windows[begun / reading->window_len % AHEAD], begun);
		window = &reading->windows[done / reading->window_len % AHEAD];
		whole &= await(reading, window);
		if (whole)
			compare_window(reading, window);
		done += window->len;
	}
}

static int make_room(struct reading *reading)
{
	const uint64_t size = reading->content->size;
	size_t len = MIN(reading->window_len, (size + BLOCK - 1) / BLOCK * BLOCK);
	unsigned n = MIN(AHEAD, (size + reading->window_len - 1) / reading->window_len);

	for (unsigned i = 0; i < n; i++)
		if (posix_memalign((void **)&reading->windows[i].there, BLOCK, len) ||
		    posix_memalign((void **)&reading->windows[i].here, BLOCK, len))
			return -ENOMEM;
	return 0;
}

static int compare(struct reading *reading)
{
	struct content *content = reading->content;

	content->here = make_room(reading);
	if (!content->here)
		read_all(reading);
	for (unsigned i = 0; i < AHEAD; i++) {
		free(reading->windows[i].there);
		free(reading->windows[i].here);
	}
	content->changed = content->there == -ENODATA || content->here == -ENODATA;
	return content->there ? content->there : content->here;
}

int content_compare(struct content *content)
{
	uint32_t max = content->asker->retriever->max_read;
	struct reading *reading = g_new0(struct reading, 1);
	int ret;

	reading->content = content;
	reading->part_len = CLAMP(max / BLOCK * BLOCK, PART_MIN, WINDOW);
	reading->window_len =
		MIN(WINDOW, reading->part_len * PARTS) / reading->part_len * reading->part_len;
	g_mutex_init(&reading->lock);
	g_cond_init(&reading->ready);
	reading->hash = proof_hash_new();
	reading->fd = open_here(content);
	ret = content->here = MIN(reading->fd, 0);
	if (!ret)
		ret = compare(reading);
	if (!ret)
		proof_hash_take(reading->hash, content->sha256);
	if (reading->fd >= 0)
		close(reading->fd);
	proof_hash_free(reading->hash);
	g_mutex_clear(&reading->lock);
	g_cond_clear(&reading->ready);
	g_free(reading);
	return ret;
}
