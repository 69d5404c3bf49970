/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/flags.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/name_diff.h"
#include "retriever/data/durability.h"
#include "retriever/data/place.h"
#include "retriever/making/retention.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/private.h"
#include "retriever/objects/waiters.h"
#include "retriever/progress/recount.h"

#define ROUNDS_MAX  3
#define SYNCING_MAX 4096 /* objects, which stay in memory a little longer */

enum left { NOTHING, SYNCING, FAILED, SOMETHING };

struct finish {
	struct object *directory; /* referenced */
	object_done_fn done;
	void *arg;
	unsigned rounds;
	/* Of the last look at the entries: */
	gint placings;
	unsigned filled;
	GPtrArray *syncing; /* of struct object, referenced */
	bool settles;	    /* nothing but these is left */
	enum left above;    /* of the directory that it is in */
};

/* What keeps this entry from being normal. */
static enum left look_at_child(struct finish *finish, const struct dirent *e)
{
	struct retriever *retriever = finish->directory->retriever;
	struct object *object;
	enum left left = SOMETHING;
	int ret, fd = retriever_open_name(finish->directory->fd, e->d_name,
					  O_RDONLY | O_NOATIME | O_NONBLOCK);

	if (fd == -EXDEV) {
		g_autofree char *name = text_name(e->d_name, strlen(e->d_name));

		object_fail_about(finish->directory, -EBUSY, QM_MOUNTED_BELOW, name);
		return FAILED;
	}
	if (fd < 0)
		return fd == -ENOENT || fd == -ENXIO || fd == -ELOOP ? NOTHING : SOMETHING;
	if (migrate_has_record(fd) == 0) {
		left = NOTHING;
	} else if ((ret = object_get(retriever, fd, &object)) < 0) {
		left = ret == -EBADMSG || ret == -EREMOTEIO ? FAILED : SOMETHING;
	} else {
		g_mutex_lock(&object->lock);
		if (object->normal)
			left = NOTHING;
		else if (!is_directory(object) && object_has(object, 0, INT64_MAX))
			left = SYNCING;
		else if (object->record.error || flags_word(fd, ""))
			left = FAILED;
		g_mutex_unlock(&object->lock);
		if (left == SYNCING) {
			durability_queue(object, 0);
			if (finish->syncing->len <= SYNCING_MAX)
				g_ptr_array_add(finish->syncing, object_ref(object));
		}
		object_unref(object);
	}
	if (left == NOTHING)
		retention_keep(retriever, finish->directory->fd, e->d_name, fd);
	close(fd);
	return left;
}

/* What is neither file nor directory has no record, and may do anything when it is opened.  A file
 * of a copy that was whole already need not be looked at. */
static bool concerns_finish(int dir_fd, const struct dirent *e, const GArray *not_whole)
{
	unsigned char type = e->d_type;
	struct stat st;

	if (type == DT_UNKNOWN) /* what cannot be seen keeps it unfinished */
		type = fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0
			       ? DT_DIR
			       : IFTODT(st.st_mode);
	return type == DT_DIR || (type == DT_REG && listing_sum_may_lack(not_whole, e->d_name));
}

/* Whether its names are not those that it got, though nobody changed any: its mtime is as it was
 * set then. */
static bool is_another(struct object *directory, uint64_t sum)
{
	const struct migrate_record *rec = &directory->record;
	struct stat st;
	bool another;

	g_mutex_lock(&directory->lock);
	another = !directory->normal && (rec->flags & MIGRATE_REC_LISTED) && rec->listed != sum &&
		  fstat(directory->fd, &st) == 0 && migrate_ns(st.st_mtim) == rec->mtime;
	g_mutex_unlock(&directory->lock);
	if (another)
		object_fail(directory, -EREMOTEIO, QM_NAMES_CHANGED);
	return another;
}

/*
 * Whether it has to keep its record because the directory that it is in is not filled: there what
 * has none is foreign (fill_state.h).  What is filled stays so, unless a power cut may undo
 * that, and not what was done later.
 */
static enum left look_above(struct object *directory)
{
	struct retriever *retriever = directory->retriever;
	enum left left = NOTHING;
	struct migrate_record rec;
	int fd;

	if (retriever->copying || migrate_binding_equal(&directory->key, &retriever->root_key))
		return NOTHING;
	fd = openat(directory->fd, "..", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	if (fd < 0)
		return SOMETHING;
	if (migrate_record_load(fd, &rec) == 1) {
		if (rec.state == MIGRATE_UNFILLED)
			left = rec.error ? FAILED : SOMETHING;
		else if (!capabilities_has(&directory->retriever->capabilities, CAPABILITY_ORDER) &&
			 fsync(fd) < 0)
			left = SOMETHING;
		migrate_record_clear(&rec);
	}
	close(fd);
	return left;
}

static enum left scan_children(struct finish *finish)
{
	struct object *directory = finish->directory;
	bool root = migrate_binding_equal(&directory->key, &directory->retriever->root_key);
	g_autoptr(GArray) not_whole =
		directory->retriever->config->retention
			? NULL
			: listing_sum_not_whole(directory->retriever, directory->fd);
	DIR *dir = retriever_list(directory->fd, ".");
	enum left left = NOTHING;
	struct dirent *e;
	uint64_t sum = 0;

	if (!dir)
		return SOMETHING;
	while (left != SOMETHING && (errno = 0, e = readdir(dir))) {
		enum left this;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (root && !strcmp(e->d_name, MIGRATE_PRIVATE_DIR)))
			continue;
		sum += name_diff_part(root, e->d_name, e->d_ino);
		if (!concerns_finish(directory->fd, e, not_whole))
			continue;
		this = look_at_child(finish, e);
		if (this > left)
			left = this;
	}
	if (!e && errno)
		left = SOMETHING;
	closedir(dir);
	if (left != SOMETHING && is_another(directory, sum))
		left = FAILED;
	return left;
}

/* Object lock and tree lock held.  A filled directory's times are the inode's, and removing the
 * record does not move its mtime. */
static int drop_directory_record(struct object *directory)
{
	struct retriever *retriever = directory->retriever;
	const bool root = migrate_binding_equal(&directory->key, &retriever->root_key);
	ino_t counted;
	int held, ret;

	if (directory->normal)
		return 0;
	if (directory->record.state != MIGRATE_FILLED)
		return -EAGAIN;
	ret = root ? private_set_attached(retriever) : 0;
	if (ret)
		return ret;
	held = migrate_lock_directory(directory->fd, MIGRATE_HOLD_ALONE, NULL);
	if (held < 0)
		return -EAGAIN;
	if (retriever->copying)
		listing_sum_set_whole(directory->fd);
	counted = recount_begin(retriever, directory->fd, "", RECOUNT_WHOLE);
	ret = migrate_record_drop(directory->fd);
	if (!ret)
		COUNT_ADD(retriever, directories_whole, 1);
	recount_end(retriever, counted, RECOUNT_WHOLE, !ret);
	close(held);
	if (ret)
		return ret;
	/* an inode may not have room for both; without it the next run sets its attributes anew */
	if (retriever->copying)
		copy_mark_set_bound(directory->fd, &directory->key, directory->record.fileid,
				    directory->record.ctime);
	directory->normal = true;
	errors_forget(retriever->errors, &directory->key);
	if (root) {
		/* all is whole: what clients removed while it was a stub is not counted any more */
		COUNT_SET(retriever, files_found, COUNT_GET(retriever, files_whole));
		COUNT_SET(retriever, bytes_found, COUNT_GET(retriever, bytes_whole));
		COUNT_SET(retriever, directories_found, COUNT_GET(retriever, directories_whole));
		COUNT_SET(retriever, unfilled, 0);
		errors_forget_all(retriever->errors);
		if (!retriever->copying)
			log_event(EVENT_WHOLE, G_LOG_LEVEL_MESSAGE, retriever->config->root, NULL,
				  QM_NONE, 0, "%s: everything is here: see migratectl finalize",
				  retriever->config->root);
	}
	return 0;
}

static void finish_again(void *arg);

static void round_over(void *arg, int status)
{
	struct finish *finish = arg;

	jobs_run(finish->directory->retriever->jobs, JOB_BACKGROUND, finish_again, finish);
}

/*
 * Whether a door that was let place something by a retriever that is dead may do so any time: it
 * may be through with that, and let go, before the entries are looked at.  Who comes later is
 * counted by `placings`.
 */
static bool is_held(struct object *directory)
{
	int held;

	g_mutex_lock(&directory->lock); /* reload() may be opening it */
	held = migrate_lock_directory(directory->fd, MIGRATE_HOLD_ALONE, NULL);
	g_mutex_unlock(&directory->lock);
	if (held >= 0)
		close(held);
	return held < 0;
}

/* Looks at the entries. */
static enum left look_into(struct finish *finish)
{
	struct object *directory = finish->directory;
	enum left left;

	finish->placings = places_so_far(directory->retriever);
	g_mutex_lock(&directory->lock);
	finish->filled = directory_of(directory)->filled;
	g_mutex_unlock(&directory->lock);
	g_ptr_array_set_size(finish->syncing, 0);
	finish->above = directory->normal ? NOTHING : look_above(directory);
	if (directory->normal)
		left = NOTHING;
	else if (places_open(directory->retriever) || is_held(directory))
		left = SOMETHING;
	else
		left = scan_children(finish);
	finish->settles = left == SYNCING && finish->syncing->len <= SYNCING_MAX;
	return left;
}

/*
 * What need only become durable at the last look is normal by now.  What was normal then still is
 * (I1), unless something was placed or the directory was filled again, which try_drop() looks at.
 */
static bool has_settled(const struct finish *finish)
{
	for (guint i = 0; finish->settles && i < finish->syncing->len; i++) {
		const struct object *object = finish->syncing->pdata[i];

		if (!object->normal)
			return false;
	}
	return finish->settles && places_so_far(finish->directory->retriever) == finish->placings;
}

static int try_drop(const struct finish *finish)
{
	struct object *directory = finish->directory;
	struct retriever *retriever = directory->retriever;
	int ret = -EAGAIN;

	places_lock(retriever);
	g_mutex_lock(&directory->lock);
	if (places_so_far(retriever) == finish->placings && !places_open(retriever) &&
	    directory_of(directory)->filled == finish->filled)
		ret = drop_directory_record(directory);
	g_mutex_unlock(&directory->lock);
	places_unlock(retriever);
	return ret;
}

static void finish_again(void *arg)
{
	struct finish *finish = arg;
	struct object *directory = finish->directory;
	bool settled = !directory->retriever->config->retention && has_settled(finish);
	enum left left = settled ? NOTHING : look_into(finish);
	int ret;

	if (!settled && left != SOMETHING && finish->syncing->len &&
	    finish->rounds++ < ROUNDS_MAX) {
		if (!finish->settles)
			g_ptr_array_set_size(finish->syncing, 0);
		durability_after_round(directory->retriever, round_over, finish);
		return;
	}
	if (left == NOTHING)
		left = finish->above;
	ret = left == FAILED ? -EREMOTEIO : -EAGAIN;
	if (left == NOTHING)
		ret = try_drop(finish);
	if (ret == -EPERM) {
		object_fail(directory, ret, QM_RECORD_STAYS);
		ret = -EREMOTEIO;
	}
	finish->done(finish->arg, ret);
	g_ptr_array_unref(finish->syncing);
	object_unref(directory);
	g_slice_free(struct finish, finish);
}

void finish_directory(struct object *directory, object_done_fn done, void *arg)
{
	struct finish *finish = g_slice_new0(struct finish);

	finish->directory = object_ref(directory);
	finish->syncing = g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
	finish->done = done;
	finish->arg = arg;
	jobs_run(directory->retriever->jobs, JOB_BACKGROUND, finish_again, finish);
}
