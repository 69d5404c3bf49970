/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/refresh.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mtime.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/making/create.h"
#include "retriever/objects/links.h"

/* Removes another version, or sets it aside: data that is newer than the old server's, and objects
 * below a directory, must not be destroyed. */
static int put_away(struct new_object *m, const struct stat *st)
{
	struct retriever *retriever = m->retriever;
	bool newer = S_ISREG(st->st_mode) && st->st_size &&
		     migrate_ns(st->st_mtim) > m->entry->attr.mtime &&
		     !mtime_is_nearest(st->st_mtim, m->entry->attr.mtime);
	gint64 n = S_ISDIR(st->st_mode) ? prior_names(retriever, m->dir_fd, m->as) : 0;
	int ret = n < 0 ? (int)n : prior_check(retriever, n);

	if (ret)
		return ret;
	listing_sum_uncount(retriever, m->dir_fd, m->as);
	if (newer || S_ISDIR(st->st_mode))
		ret = aside_put(retriever, m->dir_fd, m->as, m->parent->path, m->entry->name);
	else if (unlinkat(m->dir_fd, m->as, 0) < 0)
		ret = -errno;
	if (ret)
		prior_uncount(retriever, n);
	return ret;
}

static int replace(struct new_object *m, const struct stat *st, enum make_outcome *outcome)
{
	int ret = put_away(m, st);

	return ret ? ret : create_object(m, outcome);
}

/* Marks the directory as unfilled, so that it is listed (again). */
static int set_unfilled(struct new_object *m, int fd)
{
	struct retriever *retriever = m->retriever;
	struct migrate_record *rec;
	struct object *object;
	int ret = object_get(retriever, fd, &object);

	if (ret)
		return ret;
	g_mutex_lock(&object->lock);
	rec = &object->record;
	if (object->normal)
		COUNT_ADD(retriever, directories_whole, -1);
	if (object->normal || rec->state != MIGRATE_UNFILLED)
		COUNT_ADD(retriever, unfilled, 1);
	migrate_record_clear(rec);
	ret = new_object_record(m, rec);
	rec->binding = object->key;
	if (object->fd < 0)
		object->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (!ret)
		ret = object->fd < 0 ? -errno : object_store(object);
	if (ret == -ENOSPC && !copy_mark_remove(fd)) /* an inode may not have room for both */
		ret = object_store(object);
	if (!ret)
		object->normal = false;
	g_mutex_unlock(&object->lock);
	object_unref(object);
	return ret;
}

/* Whether it waits to be listed since it was given the attributes that are listed now. */
static bool is_refreshed(const struct new_object *m)
{
	const struct source_attr *attr = &m->entry->attr;
	struct migrate_record rec;
	uint64_t fileid;
	int64_t ctime;
	int fd = openat(m->dir_fd, m->as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* its mark is another version's, or unsettled: else it would be the same */
	bool is =
		fd >= 0 && !copy_mark_get(fd, &fileid, &ctime) && migrate_record_load(fd, &rec) > 0;

	if (is) {
		is = rec.state == MIGRATE_UNFILLED && rec.fileid == attr->fileid &&
		     rec.ctime == attr->ctime;
		migrate_record_clear(&rec);
	}
	if (fd >= 0)
		close(fd);
	return is;
}

/* Before they are set there is no mark of them, and its record comes last. */
static int refresh_attributes(struct new_object *m, int fd)
{
	int ret = attributes_strip(fd);

	if (!ret && migrate_has_record(fd) == 0) {
		ret = copy_mark_remove(fd);
		if (!ret)
			ret = new_object_keep_room(m, fd);
	}
	if (!ret)
		ret = new_object_set_attributes(m, fd, false);
	return ret ? ret : copy_mark_set_if_room(fd, &m->entry->attr);
}

/* Its ctime tells whether its attributes may have changed. */
static int refresh_directory(struct new_object *m, int found, enum make_outcome *outcome)
{
	int fd, ret = 0;

	*outcome = MAKE_THERE;
	if (found == COPY_ALIKE && is_refreshed(m))
		return 0;
	if (found == COPY_ALIKE && new_object_lacks_attributes(m)) {
		*outcome = MAKE_ASK;
		return 0;
	}
	fd = openat(m->dir_fd, m->as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (found == COPY_ALIKE)
		ret = refresh_attributes(m, fd);
	if (!ret)
		ret = set_unfilled(m, fd);
	close(fd);
	return ret;
}

static int compare_names(const struct new_object *m, int found, const struct stat *st)
{
	const struct link_id object = links_id(&m->entry->attr);
	int links = m->retriever->links_fd, first;
	char id[LINK_NAME_LEN];
	struct stat other;

	links_name(id, &object);
	first = copy_mark_compare(links, id, &m->entry->attr, false, &other, NULL);
	/* which names of this run are linked to it already, nobody knows: the switch reads it again
	 */
	if (first == COPY_UNSETTLED)
		first = COPY_UNFINISHED;
	if (found == COPY_UNSETTLED)
		found = COPY_UNFINISHED;
	if (first == COPY_OTHER && unlinkat(links, id, 0) < 0 && errno != ENOENT)
		return -errno;
	if (first < 0 || found < COPY_SAME)
		return first < 0 ? first : found;
	if (first >= COPY_SAME)
		return other.st_ino == st->st_ino ? found : COPY_OTHER;
	if (!links_claim(m->retriever, st->st_ino, &m->entry->attr, false))
		return COPY_OTHER;
	return linkat(m->dir_fd, m->as, links, id, 0) == 0 || errno == EMLINK ? found : COPY_OTHER;
}

int refresh_compare(const struct new_object *m, struct stat *st)
{
	const struct source_attr *attr = &m->entry->attr;
	int found = copy_mark_compare(m->dir_fd, m->as, attr, false, st, NULL);

	return found < 0 || S_ISDIR(attr->mode) || attr->nlink == 1 ? found
								    : compare_names(m, found, st);
}

int refresh_entry(struct new_object *m, enum make_outcome *outcome)
{
	struct stat st;
	int ret = 0, found = refresh_compare(m, &st);

	m->absent = found == COPY_NOTHING;
	if (found <= COPY_NOTHING)
		ret = found < 0 ? found : create_object(m, outcome);
	else if (found < COPY_ALIKE && new_object_must_ask(m))
		*outcome = MAKE_ASK;
	else if (found < COPY_ALIKE)
		ret = replace(m, &st, outcome);
	else if (S_ISDIR(m->entry->attr.mode))
		ret = refresh_directory(m, found, outcome);
	else
		*outcome = MAKE_THERE;
	if (found == COPY_SAME)
		m->here = true;
	if (found >= COPY_ALIKE && !ret && *outcome == MAKE_THERE && m->parent->same)
		g_atomic_int_inc(m->parent->same);
	attributes_clear(&m->carried);
	return ret;
}
