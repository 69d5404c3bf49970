/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/scratch_file.h"
#include "lib/base/write_fully.h"

#define HEAD	  "#mtree v2.0\n#dir . both same\n#begin\n"
#define DIRECTORY "#dir "
#define LINK	  "#object " /* "#link" was by the number alone */
#define DONE	  "#done "
#define SPILL	  ((gsize)4 << 20)
#define NUMBERS	  (5 + PROOF_STATUS_COUNT) /* of struct proof_counts */

static const char *const sides[] = {"both", "here", "there"};

struct proof_log {
	GMutex lock; /* held while the disk is written to */
	GCond changed;
	int fd;
	FILE *queue; /* the same file, where the next directory is looked for */
	char *line;
	size_t room;
	guint64 next;	  /* number of the next #dir */
	GByteArray *done; /* bits */
	guint64 known;	  /* numbers below may have been done by a run before */
	unsigned under_way;
	off_t size;
	bool stopped;
};

/* ---- blocks ---- */

void proof_block_init(struct proof_block *block, int dir_fd)
{
	*block = (struct proof_block){.dir_fd = dir_fd, .text = g_string_new(NULL), .spilled = -1};
}

void proof_block_clear(struct proof_block *block)
{
	if (block->spilled >= 0)
		close(block->spilled);
	g_string_free(block->text, TRUE);
}

static void spill_block(struct proof_block *block)
{
	if (block->text->len < SPILL || block->status)
		return;
	if (block->spilled < 0)
		block->spilled = scratch_file(block->dir_fd);
	block->status = block->spilled < 0 ? -errno
					   : write_fully(block->spilled, block->text->str,
							 block->text->len, WRITE_BEHIND);
	g_string_truncate(block->text, 0);
}

void proof_block_entry(struct proof_block *block, const struct proof_entry *entry)
{
	proof_entry_format(block->text, entry);
	block->counts.objects++;
	block->counts.status[entry->status]++;
	spill_block(block);
}

void proof_block_finding(struct proof_block *block, const struct proof_finding *finding)
{
	g_string_append(block->text, PROOF_MARK);
	proof_finding_format(block->text, finding);
	block->counts.findings++;
	spill_block(block);
}

void proof_block_directory(struct proof_block *block, const char *path, enum proof_side side,
			   enum proof_status status)
{
	g_string_append(block->text, DIRECTORY);
	proof_path_format(block->text, path);
	g_string_append_printf(block->text, " %s %s\n", sides[side], proof_status_name(status));
	spill_block(block);
}

void proof_block_link(struct proof_block *block, guint64 fileid, guint64 inode)
{
	g_string_append_printf(block->text, LINK "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
			       fileid, inode);
	spill_block(block);
}

/* ---- counts ---- */

static void counts_to(const struct proof_counts *counts, guint64 n[NUMBERS])
{
	const guint64 first[5] = {counts->objects, counts->findings, counts->sampled, counts->bytes,
				  counts->cached};

	memcpy(n, first, sizeof first);
	memcpy(n + 5, counts->status, sizeof counts->status);
}

void proof_counts_add(struct proof_counts *sum, const struct proof_counts *counts)
{
	sum->objects += counts->objects;
	sum->findings += counts->findings;
	sum->sampled += counts->sampled;
	sum->bytes += counts->bytes;
	sum->cached += counts->cached;
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		sum->status[i] += counts->status[i];
}

static bool counts_parse(char *text, struct proof_counts *counts)
{
	guint64 n[NUMBERS];

	for (unsigned i = 0; i < NUMBERS; i++) {
		char *end;

		n[i] = g_ascii_strtoull(text, &end, 10);
		if (end == text || *end != (i + 1 < NUMBERS ? ' ' : '\n'))
			return false;
		text = end + 1;
	}
	*counts = (struct proof_counts){n[0], n[1], n[2], n[3], n[4]};
	memcpy(counts->status, n + 5, sizeof counts->status);
	return true;
}

/* ---- going on ---- */

static bool is_done(const struct proof_log *log, guint64 number)
{
	return number / 8 < log->done->len && log->done->data[number / 8] & 1 << number % 8;
}

static void set_done(struct proof_log *log, guint64 number)
{
	static const guint8 zeros[4096];

	while (number / 8 >= log->done->len)
		g_byte_array_append(log->done, zeros, sizeof zeros);
	log->done->data[number / 8] |= 1 << number % 8;
}

struct replay {
	guint64 directories, whole_directories; /* so far; up to the last block that is whole */
	off_t at, whole;
	proof_link_fn link;
	void *arg;
};

/* FALSE: nothing after this counts. */
static bool replay_line(struct proof_log *log, struct replay *replay, char *line,
			struct proof_counts *sum)
{
	struct proof_counts counts;
	guint64 a, b;
	char *end;

	if (g_str_has_prefix(line, DIRECTORY))
		replay->directories++;
	if (g_str_has_prefix(line, LINK)) {
		a = g_ascii_strtoull(line + strlen(LINK), &end, 10);
		b = g_ascii_strtoull(end, NULL, 10);
		replay->link(replay->arg, a, b);
	}
	if (g_str_has_prefix(line, DONE)) {
		a = g_ascii_strtoull(line + strlen(DONE), &end, 10);
		if (*end != ' ' || a >= replay->directories || is_done(log, a) ||
		    !counts_parse(end + 1, &counts))
			return false;
		set_done(log, a);
		proof_counts_add(sum, &counts);
	}
	if (g_str_has_prefix(line, DONE) || !strcmp(line, "#begin\n")) {
		replay->whole = replay->at;
		replay->whole_directories = replay->directories;
	}
	return true;
}

static int replay_log(struct proof_log *log, struct proof_counts *counts, proof_link_fn link,
		      void *arg)
{
	struct replay replay = {.link = link, .arg = arg};
	ssize_t n;

	while ((n = getline(&log->line, &log->room, log->queue)) > 0) {
		replay.at += n;
		if (log->line[n - 1] != '\n' || strlen(log->line) != (size_t)n ||
		    !replay_line(log, &replay, log->line, counts))
			break;
	}
	if (ferror(log->queue))
		return -EIO;
	rewind(log->queue);
	log->known = replay.whole_directories;
	log->size = replay.whole;
	if (!replay.whole) { /* not even its head */
		if (ftruncate(log->fd, 0) < 0)
			return -errno;
		log->size = strlen(HEAD);
		return write_fully(log->fd, HEAD, strlen(HEAD), WRITE_BEHIND);
	}
	return ftruncate(log->fd, replay.whole) < 0 ? -errno : 0;
}

struct proof_log *proof_log_open(int dir_fd, const char *name, bool anew,
				 struct proof_counts *counts, proof_link_fn link, void *arg,
				 int *status)
{
	struct proof_log *log = g_new0(struct proof_log, 1);
	int again;

	g_mutex_init(&log->lock);
	g_cond_init(&log->changed);
	log->done = g_byte_array_new();
	log->fd = openat(
		dir_fd, name,
		O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (anew ? O_TRUNC : 0), 0600);
	again = log->fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	log->queue = again < 0 ? NULL : fdopen(again, "r");
	*status = log->queue ? replay_log(log, counts, link, arg) : -errno;
	if (!*status)
		return log;
	if (!log->queue && again >= 0)
		close(again);
	proof_log_close(log);
	return NULL;
}

void proof_log_close(struct proof_log *log)
{
	if (!log)
		return;
	if (log->queue)
		fclose(log->queue);
	if (log->fd >= 0)
		close(log->fd);
	free(log->line);
	g_byte_array_unref(log->done);
	g_mutex_clear(&log->lock);
	g_cond_clear(&log->changed);
	g_free(log);
}

/* ---- the queue ---- */

static bool parse_directory(char *line, struct proof_task *task)
{
	g_auto(GStrv) words = g_strsplit(g_strchomp(line), " ", -1);

	if (g_strv_length(words) != 3)
		return false;
	task->path = proof_path_parse(words[0]);
	while (task->side < G_N_ELEMENTS(sides) && strcmp(words[1], sides[task->side]) != 0)
		task->side++;
	return task->path && task->side < G_N_ELEMENTS(sides) &&
	       proof_status_parse(words[2], &task->status);
}

/* Lock held.  1, 0: none now, -errno. */
static int next_task(struct proof_log *log, struct proof_task *task)
{
	clearerr(log->queue);
	while (getline(&log->line, &log->room, log->queue) > 0) {
		if (!g_str_has_prefix(log->line, DIRECTORY))
			continue;
		task->number = log->next++;
		if (task->number < log->known && is_done(log, task->number))
			continue;
		return parse_directory(log->line + strlen(DIRECTORY), task) ? 1 : -EBADMSG;
	}
	return ferror(log->queue) ? -EIO : 0;
}

int proof_log_take(struct proof_log *log, struct proof_task *task)
{
	int ret;

	memset(task, 0, sizeof *task);
	g_mutex_lock(&log->lock);
	while (!(ret = log->stopped ? -ECANCELED : next_task(log, task)) && log->under_way)
		g_cond_wait(&log->changed, &log->lock);
	log->under_way += ret == 1;
	g_mutex_unlock(&log->lock);
	return ret;
}

static void one_less(struct proof_log *log)
{
	log->under_way--;
	g_cond_broadcast(&log->changed);
}

static void end_block(struct proof_block *block, guint64 number)
{
	guint64 n[NUMBERS];

	counts_to(&block->counts, n);
	g_string_append_printf(block->text, DONE "%" G_GUINT64_FORMAT, number);
	for (unsigned i = 0; i < NUMBERS; i++)
		g_string_append_printf(block->text, " %" G_GUINT64_FORMAT, n[i]);
	g_string_append_c(block->text, '\n');
}

static int append_spilled(struct proof_log *log, int fd)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof buffer, at)) > 0) {
		int ret = write_fully(log->fd, buffer, n, WRITE_BEHIND);

		if (ret)
			return ret;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

int proof_log_append(struct proof_log *log, const struct proof_task *task,
		     struct proof_block *block)
{
	int ret = block->status;
	struct stat st;

	end_block(block, task->number);
	g_mutex_lock(&log->lock);
	if (!ret && block->spilled >= 0)
		ret = append_spilled(log, block->spilled);
	if (!ret)
		ret = write_fully(log->fd, block->text->str, block->text->len, WRITE_BEHIND);
	if (!ret && fstat(log->fd, &st) < 0)
		ret = -errno;
	if (!ret)
		log->size = st.st_size;
	else if (ftruncate(log->fd, log->size) < 0)
		log->stopped = true;
	one_less(log);
	g_mutex_unlock(&log->lock);
	return ret;
}

void proof_log_drop(struct proof_log *log)
{
	g_mutex_lock(&log->lock);
	one_less(log);
	g_mutex_unlock(&log->lock);
}

void proof_log_stop(struct proof_log *log)
{
	g_mutex_lock(&log->lock);
	log->stopped = true;
	g_cond_broadcast(&log->changed);
	g_mutex_unlock(&log->lock);
}

int proof_log_sync(struct proof_log *log)
{
	return fsync(log->fd) < 0 ? -errno : 0;
}
