/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/version.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/latch.h"
#include "retriever/data/bracket.h"
#include "retriever/data/durability.h"
#include "retriever/objects/templates.h"

/* Opens a bracket for the retriever itself, which keeps fills and clients out.  NULL: it could not
 * be opened. */
static struct bracket *bracket_now(struct object *object)
{
	struct latch latch;
	struct bracket *bracket;

	latch_init(&latch, 1);
	bracket = bracket_begin(object, MIGRATE_TRUNCATE, 0, 0, -1, latch_count_down, &latch);
	latch_wait(&latch);
	if (bracket && bracket_failed(bracket)) {
		bracket_abort(bracket);
		bracket = NULL;
	}
	return bracket;
}

enum likeness { OTHER, MAYBE, SAME };

/* Lock held. */
static enum likeness compare_version(const struct migrate_record *rec,
				     const struct source_attr *attr)
{
	if (attr->size != rec->size || attr->mtime != rec->mtime)
		return OTHER;
	return attr->fileid == rec->fileid && attr->ctime == rec->ctime ? SAME : MAYBE;
}

/* Lock held: whether nothing of the file is here, of whatever origin. */
static bool is_empty(struct object *object)
{
	const struct migrate_record *rec = &object->record;

	return !(rec->flags & MIGRATE_REC_CLIENT) && migrate_extents_empty(&rec->dirty) &&
	       migrate_extents_empty(&file_of(object)->filled) &&
	       migrate_extents_bytes(&rec->missing) == rec->size;
}

/* Lock held: where it is on the old server from now on. */
static void take_place(struct object *object, const struct source_object *source)
{
	struct migrate_record *rec = &object->record;

	if (!source)
		return;
	if (source->handle_len) {
		templates_shrink(object->retriever->templates, source->handle, source->handle_len,
				 rec);
	} else if (source->path) {
		rec->flags &= ~MIGRATE_REC_HANDLE_DIFF;
		rec->handle_len = 0;
	}
	if (source->path && (rec->path || !source->handle_len) &&
	    strlen(source->path) <= MIGRATE_REC_MAX_PATH) {
		g_free(rec->path);
		rec->path = g_strdup(source->path);
	}
}

static void take_identity(struct migrate_record *rec, const struct source_attr *attr)
{
	rec->fileid = attr->fileid;
	rec->ctime = attr->ctime;
}

/*
 * Lock held, our bracket open.  The record first says that all of the new size is missing, then the
 * size is set: a reader in between finds missing ranges, never zeros.  A crash in between leaves
 * the mark RESIZE, and object_load() sets the size.  The old content stays until it is written
 * over.  What clients set (mode, owner, mtime) is kept; ctime moves.
 */
static int take_content(struct object *object, const struct source_attr *attr)
{
	struct migrate_record *rec = &object->record, old = *rec;
	int ret;

	if ((rec->flags & MIGRATE_REC_SHOWN_MTIME) && rec->shown_mtime == rec->mtime)
		rec->flags &= ~MIGRATE_REC_SHOWN_MTIME;
	if (rec->flags & MIGRATE_REC_SHOWN_CTIME)
		rec->shown_ctime = MAX(rec->shown_ctime + 1, g_get_real_time() * 1000);
	rec->size = attr->size;
	rec->mtime = attr->mtime;
	take_identity(rec, attr);
	rec->missing = rec->dirty = (struct migrate_extents)MIGRATE_EXTENTS_INIT;
	ret = migrate_extents_add(&rec->missing, 0, attr->size);
	rec->flags |= MIGRATE_REC_RESIZE;
	if (!ret)
		ret = object_store(object);
	if (!ret && ftruncate(object->fd, attr->size) < 0)
		ret = -errno;
	if (ret) { /* it is of the old version still */
		migrate_extents_clear(&rec->missing);
		*rec = old;
		object_store(object);
		return ret;
	}
	migrate_extents_clear(&old.missing);
	migrate_extents_clear(&old.dirty);
	migrate_extents_clear(&file_of(object)->filled);
	migrate_extents_clear(&file_of(object)->zeros);
	COUNT_ADD(object->retriever, bytes_found, (gint64)rec->size - (gint64)old.size);
	rec->flags &= ~MIGRATE_REC_RESIZE;
	return object_store(object);
}

/* Lock held: what keeps it from being taken, or QM_NONE. */
static enum error_code objection(const struct migrate_record *rec, enum likeness likeness,
				 enum version_trust trust)
{
	if (likeness == OTHER && trust == VERSION_FOUND)
		return QM_REPLACED;
	if (likeness == SAME || !(rec->flags & MIGRATE_REC_CLIENT))
		return QM_NONE;
	if (likeness == OTHER)
		return QM_CHANGED_BOTH;
	return trust == VERSION_SAME ? QM_NONE : QM_CHANGED_MAYBE;
}

/*
 * Lock held.  What does not touch the content: 0, -errno with *error; 1: it does.
 */
static int take_lightly(struct object *object, const struct source_object *source,
			const struct source_attr *attr, enum version_trust trust,
			enum error_code *error)
{
	struct migrate_record *rec = &object->record;
	enum likeness likeness = compare_version(rec, attr);

	if (object->normal)
		return 0;
	if (likeness == SAME) {
		*error = QM_RECORD_UNWRITTEN;
		take_place(object, source);
		return object_store(object);
	}
	*error = object->retriever->copying ? QM_CHANGED_IN_COPY : objection(rec, likeness, trust);
	return *error ? -ESTALE : 1;
}

/* Lock held and the retriever's own bracket open: neither a fill nor a client writes to the file.
 */
static int take_source_version(struct object *object, const struct source_object *source,
			       const struct source_attr *attr, enum version_trust trust,
			       enum error_code *error)
{
	struct migrate_record *rec = &object->record;
	int ret = take_lightly(object, source, attr, trust, error);

	if (ret <= 0)
		return ret;
	*error = QM_RECORD_UNWRITTEN;
	/* if it fails, too: of what the record says then, what was asked for is not, maybe */
	file_of(object)->version++;
	take_place(object, source);
	if (compare_version(rec, attr) == OTHER ||
	    (!(rec->flags & MIGRATE_REC_CLIENT) && !is_empty(object))) {
		ret = take_content(object, attr);
	} else {
		take_identity(rec, attr);
		ret = object_store(object);
	}
	return ret;
}

int version_take(struct object *object, const struct source_object *source,
		 const struct source_attr *attr, enum version_trust trust, enum error_code *error)
{
	struct bracket *bracket;
	int ret;

	*error = trust ? QM_NO_FILE : QM_GONE;
	if (!S_ISREG(attr->mode))
		return -ESTALE;
	g_mutex_lock(&object->lock);
	ret = take_lightly(object, source, attr, trust, error);
	g_mutex_unlock(&object->lock);
	if (ret <= 0)
		return ret;
	*error = QM_FILE_UNCHANGED;
	bracket = bracket_now(object);
	if (!bracket)
		return -EIO;
	g_mutex_lock(&object->lock);
	ret = take_source_version(object, source, attr, trust, error);
	g_mutex_unlock(&object->lock);
	bracket_abort(bracket);
	if (!ret)
		durability_queue(object, 0); /* an empty version is whole */
	return ret;
}
