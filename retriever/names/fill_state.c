/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/fill_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "retriever/copies/leftover.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/name_diff.h"
#include "retriever/copies/prior.h"
#include "retriever/making/dummy.h"
#include "retriever/names/name_errors.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"
#include "retriever/progress/recount.h"

/* Whether the file system has free blocks: then the error means that there is no room for
 * attributes. */
static bool has_free_blocks(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && fs.f_bavail > 0;
}

/* With the lock held: every name is here.  Times first, the record last.  sum: of the names, or
 * NULL; also where attributes leave no room for it, as the record is then no longer than before. */
static int mark_filled(struct object *object, const uint64_t *sum)
{
	struct migrate_record *rec = &object->record;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    migrate_timespec(migrate_record_mtime(rec))};
	struct retriever *retriever = object->retriever;
	const uint16_t closed = rec->flags & MIGRATE_REC_CLOSED_DIRECTORY; /* skipped: no sum */
	ino_t counted;
	int ret;

	if (object->normal || rec->state != MIGRATE_UNFILLED)
		return 0;
	if (closed && sum)
		return -EAGAIN;
	if (futimens(object->fd, times) < 0)
		return -errno;
	rec->state = MIGRATE_FILLED;
	rec->flags &= ~closed;
	rec->error = 0;
	if (sum) {
		rec->flags |= MIGRATE_REC_LISTED;
		rec->listed = *sum;
	}
	/* from here on the inode's mtime tells whether a client changed names (migrate_stub) */
	if (rec->flags & MIGRATE_REC_SHOWN_MTIME)
		rec->mtime = rec->shown_mtime;
	counted = recount_begin(retriever, object->fd, "", RECOUNT_FILLED);
	ret = object_store(object);
	if (ret == -ENOSPC && sum && has_free_blocks(object->fd)) {
		rec->flags &= ~MIGRATE_REC_LISTED;
		ret = object_store(object);
	}
	if (!ret && COUNT_ADD(retriever, unfilled, -1) == 0)
		COUNT_SET(retriever, named, g_get_real_time() / G_USEC_PER_SEC);
	recount_end(retriever, counted, RECOUNT_FILLED, !ret);
	if (ret) {
		rec->state = MIGRATE_UNFILLED;
		rec->flags &= ~MIGRATE_REC_LISTED;
		rec->flags |= closed;
		return ret;
	}
	directory_of(object)->filled++;
	leftover_forget_asked(object);
	/* now: what fails is listed again */
	COUNT_ADD(retriever, same, directory_of(object)->same);
	directory_of(object)->same = 0;
	return 0;
}

bool directory_names_fixed(struct object *object)
{
	bool fixed;

	g_mutex_lock(&object->lock);
	fixed = object->normal || directory_of(object)->names ||
		object->record.state != MIGRATE_UNFILLED;
	g_mutex_unlock(&object->lock);
	return fixed;
}

static bool is_root(const struct object *object)
{
	return migrate_binding_equal(&object->key, &object->retriever->root_key);
}

bool directory_is_foreign(const struct object *directory, const char *name)
{
	const struct retriever *retriever = directory->retriever;
	struct migrate_record rec;
	bool foreign = false;
	int fd, ret;

	if (retriever->copying || (is_root(directory) && !strcmp(name, MIGRATE_PRIVATE_DIR)) ||
	    faccessat(retriever->private_fd, ORDERED_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	fd = retriever_open_name(directory->fd, name, O_RDONLY | O_DIRECTORY | O_NOATIME);
	if (fd < 0) /* something is mounted over it: finish.c says so */
		return false;
	ret = migrate_record_load(fd, &rec);
	if (ret == 1) {
		foreign = rec.flags & MIGRATE_REC_RETURNED;
		migrate_record_clear(&rec);
	} else {
		foreign = ret == 0;
	}
	close(fd);
	return foreign;
}

enum error_code directory_why_other(const struct object *directory,
				    const struct source_entry *entry)
{
	enum error_code why = QM_NONE;
	struct stat st;
	int fd;

	if (directory->retriever->copying)
		return QM_NONE;
	fd = openat(directory->fd, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		if (S_ISDIR(st.st_mode) && directory_is_foreign(directory, entry->name))
			why = QM_NAME_FOREIGN;
		else if ((st.st_mode & S_IFMT) != (entry->attr.mode & S_IFMT) &&
			 migrate_has_record(fd) == 0)
			why = QM_NAME_TAKEN;
	}
	if (fd >= 0)
		close(fd);
	return why;
}

/* Whether a local program may have put it there.  A directory goes aside at worst. */
static bool is_put_there(struct object *object, const char *name)
{
	struct stat st;

	return !leftover_was_asked(object, name) &&
	       fstatat(object->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode);
}

static int take_back(struct object *object, const GPtrArray *unlisted, const char *path)
{
	int ret = 0;

	for (guint i = 0; i < unlisted->len && !ret; i++)
		if (!is_put_there(object, unlisted->pdata[i]))
			ret = leftover_take_back(object->retriever, object->fd, unlisted->pdata[i],
						 path);
	return ret;
}

/* Checks that the directory has exactly the listed names (I13).  -ENOTUNIQ: a listed name is not
 * here, which the next fill names; else the result of dealing with unlisted names. */
static int compare_names(struct object *object, const char *path)
{
	struct retriever *retriever = object->retriever;
	struct directory *directory = directory_of(object);
	struct listing_sum *seen = g_steal_pointer(&directory->sum);
	g_autoptr(GArray) listed = g_steal_pointer(&directory->listed);
	g_autoptr(GArray) left_out = g_steal_pointer(&directory->left_out);
	struct name_diff diff = {0};
	int ret = listed ? name_diff_make(object->fd, is_root(object), listed, &diff) : 0;

	if (!ret && listed && left_out)
		name_diff_sort(diff.lacking, left_out);
	if (!ret && listed && diff.lacking->len) {
		g_mutex_lock(&object->lock);
		g_clear_pointer(&directory->not_here, g_array_unref);
		directory->not_here = g_steal_pointer(&diff.lacking);
		g_mutex_unlock(&object->lock);
		ret = -ENOTUNIQ;
	} else if (!ret && seen && listed) { /* else nobody knows what is unlisted */
		ret = listing_sum_sweep(retriever, seen, diff.unlisted, object->fd, path);
	} else if (!ret && listed) {
		ret = take_back(object, diff.unlisted, path);
	}
	name_diff_clear(&diff);
	listing_sum_free(seen);
	return ret;
}

/* Deals with names that are here, or in the prior copy, and not on the old server. */
static int put_rest_away(struct object *object)
{
	g_autofree char *path = object_source_path(object);
	int ret = compare_names(object, path);

	return !ret && object->retriever->prior && path
		       ? prior_sweep(object->retriever, object->fd, path)
		       : ret;
}

static enum error_code why_not_complete(int status)
{
	switch (status) {
	case -ENOTEMPTY:
		return QM_LEFT_TOO_MANY;
	case -ENOTUNIQ:
		return QM_NAMES_OTHERWISE;
	case -EBUSY:
	case -EPERM:
		return QM_LEFT_UNMOVED;
	default:
		return QM_RECORD_UNWRITTEN;
	}
}

/* Nothing of the fill is under way any more.  Releases the object. */
static void tell_complete(struct object *object, int ret)
{
	struct retriever *retriever = object->retriever;
	GQueue waiters = G_QUEUE_INIT;

	if (!ret) {
		g_mutex_lock(&object->lock);
		object->search.failures = 0;
		waiters_take_all(object, &waiters);
		g_mutex_unlock(&object->lock);
	}
	fill_leave(object);
	if (ret == -ENOTUNIQ && directory_of(object)->lacked++ == 0) {
		directory_of(object)->list_again(object);
	} else if (ret) {
		object_fail(object, ret, why_not_complete(ret));
	} else {
		errors_forget(retriever->errors, &object->key);
		errors_forget_names(retriever->errors, &object->key);
	}
	waiters_run(retriever, &waiters, 0);
	object_unref(object);
}

/*
 * What clients change in a filled directory may be durable before that it is filled, where a power
 * cut keeps no order: then the fill would bring back what they removed, and take what they made
 * for something that was put there.
 */
static void sync_complete(void *arg)
{
	struct object *object = arg;

	tell_complete(object, fsync(object->fd) < 0 ? -errno : 0);
}

/* On a worker, after entering the directory: no name is made in it any more. */
static void complete(void *arg)
{
	struct object *object = arg;
	struct retriever *retriever = object->retriever;
	bool listed = directory_of(object)->listed != NULL;
	uint64_t sum;
	int ret;

	if ((object->record.flags & MIGRATE_REC_NAMED) ||
	    retriever->config->stub_attributes == STUB_LAZY)
		dummy_sweep(retriever, object->fd);
	ret = put_rest_away(object);
	if (!ret && listed)
		ret = name_diff_sum(object->fd, is_root(object), &sum);
	g_mutex_lock(&object->lock);
	if (!ret)
		ret = mark_filled(object, listed ? &sum : NULL);
	directory_of(object)->names = NAMES_OPEN;
	object->when_idle = NULL;
	g_mutex_unlock(&object->lock);
	if (ret || retriever->copying ||
	    capabilities_has(&retriever->capabilities, CAPABILITY_ORDER))
		tell_complete(object, ret);
	else
		jobs_run(retriever->jobs, JOB_FLUSH, sync_complete, object);
}

static void complete_now(struct object *object)
{
	struct directory *directory = directory_of(object);

	if (directory->names != NAMES_COMPLETE || object->turns.writing || object->turns.brackets)
		return;
	directory->names = NAMES_COMPLETING;
	object->turns.writing++;
	jobs_run(object->retriever->jobs, JOB_DEMAND, complete, object_ref(object));
}

void directory_set_complete(struct object *object, void (*list_again)(struct object *directory))
{
	directory_of(object)->list_again = list_again;
	directory_of(object)->names = NAMES_COMPLETE;
	object->when_idle = complete_now;
	complete_now(object);
}
