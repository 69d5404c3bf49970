/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "lib/base/text.h"
#include "retriever/data/durability.h"
#include "retriever/data/place.h"
#include "retriever/making/retention.h"
#include "retriever/objects/errors.h"
#include "retriever/progress/recount.h"
#include "retriever/volume/move_watch.h"

#define LINES_MAX 100 /* of objects that cannot be looked at; a disk may be gone as a whole */
#define WALKS	  3   /* at most, where what is unfinished was moved behind them */

/* Directories still to be looked at, by kernel handle: no path, no open descriptor. */
struct walk {
	struct retriever *retriever;
	struct verify_count *count;
	GHashTable *linked; /* inodes of files with more than one name that have been seen */
	GArray *pending;    /* of struct migrate_binding */
	struct recount *recount;
	bool keeps;	 /* retention_keep() */
	unsigned unread; /* objects that could not be looked at */
	int error;	 /* of the first of them */
	char *first_unread;
};

static void note_unfinished(struct walk *walk, int dir_fd, const char *name)
{
	/* The crawler would not find it.  What fails is tried again with the next walk. */
	int marked = strcmp(name, ".") && !migrate_has_record(dir_fd)
			     ? place_found(walk->retriever, dir_fd)
			     : 0;

	/* They were counted before: each before what is in it. */
	walk->count->directories_whole -= MAX(marked, 0);
	walk->count->unfinished++;
	if (!walk->count->first) {
		g_autofree char *dir = retriever_fd_path(dir_fd);

		walk->count->first = strcmp(name, ".") ? g_strconcat(dir, "/", name, NULL)
						       : g_steal_pointer(&dir);
	}
}

/* The list may have been lost with the process: then the record's mark brings it back. */
static void list_failed(struct walk *walk, int fd, const struct migrate_record *rec)
{
	struct errors *errors = walk->retriever->errors;

	if (rec->error && !errors_has(errors, &rec->binding))
		errors_add_fd(errors, fd, -rec->error, QM_BEFORE_RESTART);
}

/* Bytes that clients wrote just before an earlier retriever was killed are here as long as the file
 * system stays mounted.  They are made durable, even if no client asks for that any more. */
static void keep_written(struct walk *walk, int fd, const struct migrate_record *rec)
{
	struct object *object;

	if (migrate_extents_empty(&rec->dirty) || object_get(walk->retriever, fd, &object))
		return;
	durability_queue(object, 0);
	object_unref(object);
}

/* 1: unfinished, 0: normal, -errno (a damaged record counts as unfinished). */
static int state_of(struct walk *walk, int fd, enum migrate_state *state)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);

	*state = MIGRATE_NORMAL;
	if (ret > 0) {
		*state = rec.state;
		list_failed(walk, fd, &rec);
		keep_written(walk, fd, &rec);
		migrate_record_clear(&rec);
	}
	return ret == -EBADMSG ? 1 : ret;
}

static unsigned changes_unless(bool unfinished)
{
	return unfinished ? 0 : RECOUNT_WHOLE;
}

static int look_at_directory(struct walk *walk, int fd, const struct stat *st, int dir_fd,
			     const char *name)
{
	enum migrate_state state;
	struct migrate_binding binding;
	int ret = state_of(walk, fd, &state);

	if (ret < 0)
		return ret;
	recount_saw(walk->recount, st,
		    state == MIGRATE_UNFILLED ? 0 : changes_unless(ret) | RECOUNT_FILLED);
	walk->count->directories++;
	walk->count->directories_whole += ret == 0;
	walk->count->unfilled += state == MIGRATE_UNFILLED;
	if (ret)
		note_unfinished(walk, dir_fd, name);
	ret = migrate_binding_get(fd, "", &binding);
	if (!ret)
		g_array_append_val(walk->pending, binding);
	return ret;
}

static int look_at_file(struct walk *walk, int fd, const struct stat *st, int dir_fd,
			const char *name)
{
	enum migrate_state state;
	int ret = state_of(walk, fd, &state);

	if (ret < 0)
		return ret;
	if (st->st_nlink > 1 &&
	    !g_hash_table_add(walk->linked, g_memdup2(&st->st_ino, sizeof st->st_ino)))
		return 0; /* another name of one that was counted */
	recount_saw(walk->recount, st, changes_unless(ret));
	walk->count->files++;
	walk->count->files_whole += ret == 0;
	walk->count->bytes += st->st_size;
	walk->count->bytes_whole += ret == 0 ? st->st_size : 0;
	if (ret)
		note_unfinished(walk, dir_fd, name);
	else if (walk->keeps)
		retention_keep(walk->retriever, dir_fd, name, fd);
	return 0;
}

static int look_at_name(struct walk *walk, int dir_fd, const char *name)
{
	struct stat st;
	int fd, ret = 0;

	fd = retriever_open_name(dir_fd, name, O_PATH);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	walk->count->objects++;
	if (fstat(fd, &st) < 0)
		ret = -errno;
	else if (S_ISDIR(st.st_mode))
		ret = look_at_directory(walk, fd, &st, dir_fd, name);
	else if (S_ISREG(st.st_mode))
		ret = look_at_file(walk, fd, &st, dir_fd, name);
	else {
		recount_saw(walk->recount, &st, RECOUNT_WHOLE);
		walk->count->files++, walk->count->files_whole++;
	}
	close(fd);
	return ret;
}

/* Logs the error of one object; the walk goes on, and fails in the end.  name: in dir_fd; "":
 * dir_fd itself.  Returns 0. */
static int leave_unread(struct walk *walk, int dir_fd, const char *name, int error)
{
	g_autofree char *dir = error ? retriever_fd_path(dir_fd) : NULL;
	g_autofree char *path = error ? g_build_filename(dir, name, NULL) : NULL;

	if (!error)
		return 0;
	if (walk->unread < LINES_MAX)
		g_message("%s: cannot be looked at: %s", path, g_strerror(-error));
	if (!walk->unread++) {
		walk->error = error;
		walk->first_unread = g_steal_pointer(&path);
	}
	return 0;
}

static int list(struct walk *walk, int fd, bool is_root)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int ret = 0;

	if (!dir) {
		ret = -errno;
		close(fd);
		return ret;
	}
	while (!ret && (errno = 0, e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (is_root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)))
			continue;
		ret = leave_unread(walk, fd, e->d_name, look_at_name(walk, fd, e->d_name));
	}
	if (!ret && errno)
		ret = leave_unread(walk, fd, "", -errno);
	closedir(dir);
	return ret;
}

/* A directory that cannot be opened to read it. */
static void leave_closed(struct walk *walk, const struct migrate_binding *dir, int error)
{
	int fd = retriever_open_binding(walk->retriever, dir, O_PATH);

	leave_unread(walk, fd, "", error);
	if (fd >= 0)
		close(fd);
}

/* And what has changed behind the walk, which is over. */
static void set_counters(struct retriever *retriever, const struct verify_count *count,
			 struct recount *recount)
{
	struct recount_sums more;

	recount_stop(recount, &more);
	COUNT_SET(retriever, directories_found, count->directories + more.directories);
	COUNT_SET(retriever, directories_whole, count->directories_whole + more.directories_whole);
	COUNT_SET(retriever, unfilled, count->unfilled + more.unfilled);
	COUNT_SET(retriever, files_found, count->files + more.files);
	COUNT_SET(retriever, files_whole, count->files_whole + more.files_whole);
	COUNT_SET(retriever, bytes_found, count->bytes + more.bytes);
	COUNT_SET(retriever, bytes_whole, count->bytes_whole + more.bytes_whole);
	COUNT_SET(retriever, exact, 1);
}

/* moved may be NULL; *again: something unfinished may have been moved behind the walk. */
static int walk_tree(struct walk *walk, struct move_watch *moved, bool *again)
{
	struct retriever *retriever = walk->retriever;
	bool is_root = true;
	struct stat st;
	int ret;

	walk->count->objects = 1;
	if (fstat(retriever->root_fd, &st) < 0)
		return -errno;
	ret = look_at_directory(walk, retriever->root_fd, &st, retriever->root_fd, ".");
	while (!ret) {
		struct migrate_binding next;
		int fd;

		if (moved)
			ret = move_watch_take(moved, walk->pending, again);
		if (ret || !walk->pending->len)
			break;
		next = g_array_index(walk->pending, struct migrate_binding, walk->pending->len - 1);
		g_array_set_size(walk->pending, walk->pending->len - 1);
		fd = retriever_open_binding(retriever, &next, O_RDONLY | O_DIRECTORY);
		if (fd >= 0)
			ret = list(walk, fd, is_root);
		else if (fd != -ESTALE) /* removed meanwhile */
			leave_closed(walk, &next, fd);
		is_root = false;
		if (g_atomic_int_get(&retriever->closing))
			ret = -ECANCELED;
	}
	return ret;
}

static int walk_once(struct retriever *retriever, bool keeps, struct move_watch *moved,
		     struct verify_count *count, bool *again, char **message)
{
	struct walk walk = {.retriever = retriever, .count = count, .keeps = keeps};
	int ret;

	memset(count, 0, sizeof *count);
	walk.recount = recount_new(retriever);
	walk.pending = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	walk.linked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	ret = walk_tree(&walk, moved, again);
	g_array_free(walk.pending, TRUE);
	g_hash_table_destroy(walk.linked);
	if (ret)
		*message = g_strdup_printf("%s: the walk failed: %s%s", retriever->config->root,
					   g_strerror(-ret), advice_for(ret));
	else if (walk.unread) {
		ret = walk.error;
		*message = g_strdup_printf(TEXT_COUNT " cannot be looked at, the first is %s: "
						      "%s%s; the retriever's log names others",
					   TEXT_COUNTED(walk.unread, "objects"), walk.first_unread,
					   g_strerror(-ret), advice_for(ret));
	} else
		set_counters(retriever, count, walk.recount);
	g_free(walk.first_unread);
	recount_free(walk.recount);
	return ret;
}

int verify_volume(struct retriever *retriever, bool keeps, struct verify_count *count,
		  char **message)
{
	return walk_once(retriever, keeps, NULL, count, NULL, message);
}

static int walk_watched(struct retriever *retriever, bool keeps, struct verify_count *count,
			bool *again, char **message)
{
	const struct volume_config *config = retriever->config;
	struct move_watch *moved;
	int ret = move_watch_start(retriever, &moved);

	if (ret) {
		*message = g_strdup_printf(
			"%s: the kernel cannot tell whether programs of this machine move "
			"unfinished files meanwhile: fanotify: %s: let none move anything, and run "
			"migratectl finalize --unwatched %s",
			config->root, g_strerror(-ret), config->name);
		return ret;
	}
	ret = walk_once(retriever, keeps, moved, count, again, message);
	move_watch_free(moved);
	return ret;
}

int verify_watched(struct retriever *retriever, bool keeps, struct verify_count *count,
		   char **message)
{
	memset(count, 0, sizeof *count);
	for (int walks = 0; walks < WALKS; walks++) {
		bool again = false;
		int ret = walk_watched(retriever, keeps, count, &again, message);

		if (ret || count->unfinished || !again)
			return ret;
	}
	*message = g_strdup_printf("%s: programs of this machine move unfinished files all the "
				   "time: stop them, and run migratectl finalize %s again",
				   retriever->config->root, retriever->config->name);
	return -EBUSY;
}
