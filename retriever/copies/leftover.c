/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a client changed an object is read from its record.  A whole object has no record; its
 * mtime tells.  An mtime earlier than the object's birth here is the old server's; a later one
 * means that a client wrote the object or set its mtime.  A write never gives an mtime far in the
 * future, so such an mtime counts as the old server's; if that is wrong, the object was set aside,
 * and is not lost.
 *
 * What may crash where: the line of the report is written before the name is removed; the directory
 * is unfilled until all such names are removed, and the next fill finds the names that are left.
 */
#include "retriever/copies/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/report/losses.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/object.h"

#define ASKED_MAX 4096	      /* directories, and names of each, that are remembered */
#define FUTURE	  (24 * 3600) /* seconds: clients set times by their own clocks */

#define CHANGED (MIGRATE_REC_CLIENT | MIGRATE_REC_SHOWN_MTIME | MIGRATE_REC_SHOWN_CTIME)

static bool was_written_here(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &st) < 0 ||
	    !(st.stx_mask & STATX_BTIME))
		return true;
	if (st.stx_mtime.tv_sec > g_get_real_time() / G_USEC_PER_SEC + FUTURE)
		return false;
	return st.stx_mtime.tv_sec > st.stx_btime.tv_sec ||
	       (st.stx_mtime.tv_sec == st.stx_btime.tv_sec &&
		st.stx_mtime.tv_nsec >= st.stx_btime.tv_nsec);
}

enum fate { GOES, STAYS, FAILED };

/* What passes by itself is no failure that somebody has to look at.  Or -errno. */
static int fate_of(int fd)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);
	bool changed, failed;

	if (ret < 0)
		return ret;
	if (!ret)
		return was_written_here(fd) ? STAYS : GOES;
	changed = (rec.flags & CHANGED) || rec.dirty.n ||
		  (rec.state == MIGRATE_FILLED && was_written_here(fd));
	failed = rec.error && rec.error != EAGAIN;
	migrate_record_clear(&rec);
	return changed ? STAYS : failed ? FAILED : GOES;
}

/* Of own_walk(): whether a client has changed it. */
static int is_changed(void *arg, const struct own_entry *entry)
{
	int fd = openat(entry->dir_fd, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool changed = fd >= 0 && fate_of(fd) == STAYS;

	if (fd >= 0)
		close(fd);
	return changed;
}

/* A stub, locked, so that no client begins to change it; NULL: it is none. */
static struct object *lock_file(struct retriever *retriever, int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	struct object *object = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && migrate_has_record(fd) > 0 &&
	    object_get(retriever, fd, &object) == 0)
		g_mutex_lock(&object->lock);
	if (fd >= 0)
		close(fd);
	return object;
}

static bool is_being_changed(const struct object *object)
{
	return object && !object->normal &&
	       (object->turns.brackets || !g_queue_is_empty((GQueue *)&object->turns.begins));
}

/* The object has other names, and stays as it is. */
static bool has_others(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	       st.st_nlink > 1;
}

static int take_away(struct retriever *retriever, int dir_fd, const char *name, const char *path)
{
	struct migrate_binding key;
	bool stub = migrate_binding_get(dir_fd, name, &key) == 0;
	int ret;

	if (has_others(dir_fd, name))
		return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	listing_sum_uncount(retriever, dir_fd, name);
	ret = aside_put_left(retriever, dir_fd, dir_fd, name, path);
	if (ret)
		COUNT_SET(retriever, exact, 0);
	else if (stub)
		errors_forget(retriever->errors, &key);
	return ret;
}

static int report_leftover(struct retriever *retriever, int dir_fd, const char *name, bool stays)
{
	g_autofree char *directory = retriever_fd_path(dir_fd);
	g_autofree char *at = g_strconcat(directory, "/", name, NULL);

	return losses_add(retriever->losses, LOSS_SOURCE, at,
			  stays ? "the old server answers to this name and does not list it: a "
				  "client has changed it here, and it stays"
				: "the old server answers to this name and does not list it: what "
				  "was here meanwhile was taken back");
}

/* What is left over of the prior copy may have come before. */
static bool may_be_kept(const struct retriever *retriever, int fd)
{
	return retriever->prior && retriever->prior->keep_extra && migrate_has_record(fd) == 0;
}

int leftover_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct object *object;
	int fate, ret;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	object = lock_file(retriever, dir_fd, name);
	fate = may_be_kept(retriever, fd) ? FAILED : fate_of(fd);
	close(fd);
	if (fate == GOES && (is_being_changed(object) || own_walk(dir_fd, name, is_changed, NULL)))
		fate = STAYS;
	ret = fate == GOES || fate == STAYS
		      ? report_leftover(retriever, dir_fd, name, fate == STAYS)
		      : MIN(fate, 0);
	if (!ret && fate == GOES)
		ret = take_away(retriever, dir_fd, name, path);
	if (object) {
		g_mutex_unlock(&object->lock);
		object_unref(object);
	}
	return ret;
}

int leftover_set_aside(struct retriever *retriever, int dir_fd, const char *name, const char *path)
{
	struct object *object = lock_file(retriever, dir_fd, name);
	int ret = is_being_changed(object) ? -EBUSY : take_away(retriever, dir_fd, name, path);

	if (object) {
		g_mutex_unlock(&object->lock);
		object_unref(object);
	}
	return ret;
}

/* ---- what was asked for ---------------------------------------------------------------------- */

void leftover_note_asked(struct object *object, const char *name)
{
	struct retriever *retriever = object->retriever;
	const uint64_t hash = listing_sum_hash(name);
	GArray *names;

	g_mutex_lock(&retriever->dummy_lock);
	names = g_hash_table_lookup(retriever->asked, &object->key);
	if (!names && g_hash_table_size(retriever->asked) < ASKED_MAX) {
		names = listing_entries_array();
		g_hash_table_insert(retriever->asked, g_memdup2(&object->key, sizeof(object->key)),
				    names);
	}
	if (names && names->len < ASKED_MAX)
		g_array_append_val(names, hash);
	g_mutex_unlock(&retriever->dummy_lock);
}

bool leftover_was_asked(struct object *object, const char *name)
{
	struct retriever *retriever = object->retriever;
	const uint64_t hash = listing_sum_hash(name);
	const GArray *names;
	bool asked = false;

	g_mutex_lock(&retriever->dummy_lock);
	names = g_hash_table_lookup(retriever->asked, &object->key);
	for (guint i = 0; names && i < names->len && !asked; i++)
		asked = g_array_index(names, uint64_t, i) == hash;
	g_mutex_unlock(&retriever->dummy_lock);
	return asked;
}

void leftover_forget_asked(struct object *object)
{
	g_mutex_lock(&object->retriever->dummy_lock);
	g_hash_table_remove(object->retriever->asked, &object->key);
	g_mutex_unlock(&object->retriever->dummy_lock);
}
