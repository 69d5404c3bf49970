/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/snapshot.h"

#include <errno.h>

#include "retriever/objects/sparse.h"

int snapshot_take(struct snapshot *s, struct object *object)
{
	int ret;

	*s = (struct snapshot){.object = object};
	g_mutex_lock(&object->lock);
	s->version = file_of(object)->version;
	s->lost_writes = file_of(object)->lost_writes;
	ret = migrate_extents_copy(&s->ranges, &file_of(object)->filled);
	if (!ret && !object->normal)
		ret = migrate_extents_add_all(&s->ranges, &object->record.dirty);
	if (ret)
		migrate_extents_clear(&s->ranges);
	g_mutex_unlock(&object->lock);
	return ret;
}

/* Lock held: what was synced is the file's content still (retry), and was not lost. */
static bool snapshot_holds(const struct snapshot *s)
{
	struct object *object = s->object;

	return !object->normal && file_of(object)->version == s->version &&
	       file_of(object)->lost_writes == s->lost_writes;
}

static int take_out(const struct migrate_extents *set, const struct migrate_extents *ranges,
		    struct migrate_extents *out)
{
	int ret = migrate_extents_copy(out, set);

	return ret ? ret : migrate_extents_remove_all(out, ranges);
}

static void swap(struct migrate_extents *a, struct migrate_extents *b)
{
	struct migrate_extents t = *a;

	*a = *b;
	*b = t;
}

/* Both sets of the record or none: what is missing and not dirty is fetched.  What stays in the
 * other two is only looked at once more. */
int snapshot_apply(struct snapshot *s)
{
	struct migrate_extents missing = MIGRATE_EXTENTS_INIT, dirty = MIGRATE_EXTENTS_INIT;
	struct object *object = s->object;
	int ret;

	if (!snapshot_holds(s))
		return 0;
	ret = take_out(&object->record.missing, &s->ranges, &missing);
	if (!ret)
		ret = take_out(&object->record.dirty, &s->ranges, &dirty);
	if (!ret) {
		swap(&object->record.missing, &missing);
		swap(&object->record.dirty, &dirty);
		migrate_extents_remove_all(&file_of(object)->filled, &s->ranges);
		migrate_extents_remove_all(&file_of(object)->zeros, &s->ranges);
	}
	migrate_extents_clear(&missing);
	migrate_extents_clear(&dirty);
	return ret;
}

static bool have_hole(int fd, const struct migrate_extents *ranges)
{
	for (size_t i = 0; i < ranges->n; i++) {
		if (sparse_has_hole(fd, ranges->v[i].start, ranges->v[i].end))
			return true;
	}
	return false;
}

/*
 * Lock held: what was fetched or written by clients, and has to have blocks now.  They may have cut
 * the file since, or made holes; one that is being made passes for what was fetched, too.
 */
static int need_blocks(struct object *object, struct migrate_extents *out)
{
	const struct file *file = file_of(object);
	bool holes = object_may_have_holes(object);
	int ret;

	if (holes && object->turns.brackets)
		return 0;
	ret = migrate_extents_copy(out, &file->filled);
	if (!ret)
		ret = migrate_extents_remove_all(out, &file->zeros);
	if (!ret)
		ret = holes ? migrate_extents_remove_all(out, &object->record.dirty)
			    : migrate_extents_add_all(out, &object->record.dirty);
	return ret;
}

/* One look is enough for most files. */
int snapshot_check(struct snapshot *s)
{
	struct migrate_extents need = MIGRATE_EXTENTS_INIT, part = MIGRATE_EXTENTS_INIT;
	struct object *object = s->object;
	int ret = 0;

	if (!have_hole(object->fd, &s->ranges))
		return 0;
	g_mutex_lock(&object->lock);
	if (snapshot_holds(s))
		ret = need_blocks(object, &need);
	for (size_t i = 0; !ret && i < s->ranges.n; i++) {
		ret = migrate_extents_intersect(&need, s->ranges.v[i].start, s->ranges.v[i].end,
						&part);
		if (!ret && have_hole(object->fd, &part))
			ret = -EIO;
	}
	g_mutex_unlock(&object->lock);
	migrate_extents_clear(&part);
	migrate_extents_clear(&need);
	return ret;
}

void snapshot_clear(struct snapshot *s)
{
	migrate_extents_clear(&s->ranges);
}
