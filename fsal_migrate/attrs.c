/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Order matters for an object that a fill works on.  A fill changes the inode's times, and sets
 * mtime back before it drops the record.  So the record is loaded before the inode's attributes are
 * read: if there is still a record, it says what to show; if there is none, the inode's attributes
 * are right.  If the FSAL below returned the attributes first (lookup, listings), the inode is read
 * again.
 */
#include "fsal_migrate/attrs.h"

#include "fsal_migrate/bracket.h"
#include "common_utils.h"
#include "fsal_migrate/ops.h"
#include "fsal_migrate/private.h"

#define DIRECTORY_SIZE 4096u /* bytes */
#define KEPT_S	       1     /* attributes that a fill can still change */

/* As posix2fsal_attributes() computes it. */
static void set_change(struct fsal_attrlist *attrs)
{
	attrs->change = gsh_time_cmp(&attrs->mtime, &attrs->ctime) > 0
				? timespec_to_nsecs(&attrs->mtime)
				: timespec_to_nsecs(&attrs->ctime);
}

/* MIGRATE_PRIVATE_DIR is hidden, and is taken off the root's number of links. */
static void hide_private(struct mg_object *object, struct fsal_attrlist *attrs,
			 const struct migrate_stub *stub)
{
	if (mg_is_root(object) && !(stub && stub->nlink) && (attrs->valid_mask & ATTR_NUMLINKS) &&
	    attrs->numlinks > 2 && mg_has_private(object))
		attrs->numlinks--;
}

/* The removal of an object's last name is a change that the record does not know of. */
static void show_removal(const struct mg_object *object, struct fsal_attrlist *attrs)
{
	int64_t ns = atomic_load(&object->removed);
	struct timespec removed = {.tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC};

	if (gsh_time_cmp(&removed, &attrs->ctime) > 0)
		attrs->ctime = removed;
}

/* A directory's size is shown so that it does not grow during a fill: tar would say that the
 * directory was changed meanwhile. */
static void show_directory_size(struct fsal_attrlist *attrs, const struct migrate_stub *stub)
{
	if (stub->state == MIGRATE_UNFILLED)
		attrs->filesize = DIRECTORY_SIZE;
	else if (stub->state == MIGRATE_FILLED && attrs->filesize > DIRECTORY_SIZE)
		attrs->filesize = DIRECTORY_SIZE;
}

/*
 * Puts what the record says over attributes of the inode: mtime, ctime, the change attribute, an
 * unfilled directory's number of links, a directory's size, and the space used, to which the
 * missing bytes belong.  st: what was read after the record was loaded, or NULL when attrs were.
 */
static void show_stub(const struct mg_object *object, struct fsal_attrlist *attrs,
		      const struct migrate_stub *stub, const struct stat *st)
{
	if (!(attrs->valid_mask & ATTR_MTIME) || (attrs->valid_mask & ATTR_RDATTR_ERR))
		return;
	if (stub->show_times) {
		attrs->mtime = stub->mtime;
		attrs->ctime = stub->ctime;
		show_removal(object, attrs);
		set_change(attrs);
	}
	if (st) {
		attrs->spaceused = (uint64_t)st->st_blocks * S_BLKSIZE;
		attrs->numlinks = st->st_nlink;
	}
	if (stub->nlink)
		attrs->numlinks = stub->nlink;
	attrs->spaceused = migrate_stub_space(stub, attrs->filesize, attrs->spaceused);
	show_directory_size(attrs, stub);
}

/* A record that cannot be read: the times may be wrong, but it must not look like a hole. */
static void show_damaged(struct fsal_attrlist *attrs)
{
	if ((attrs->valid_mask & ATTR_SPACEUSED) && attrs->spaceused < attrs->filesize)
		attrs->spaceused = attrs->filesize;
}

/* Shows the inode as it is now, where that can differ from the attributes that were read before. */
static void show_inode(struct fsal_attrlist *attrs, const struct stat *st)
{
	if (!(attrs->valid_mask & ATTR_MTIME) || (attrs->valid_mask & ATTR_RDATTR_ERR))
		return;
	attrs->filesize = st->st_size;
	attrs->numlinks = st->st_nlink;
	attrs->spaceused = (uint64_t)st->st_blocks * S_BLKSIZE;
	attrs->mtime = st->st_mtim;
	attrs->ctime = st->st_ctim;
	set_change(attrs);
}

bool mg_attrs_adopt(struct mg_object *object, struct fsal_attrlist *attrs)
{
	struct mg_look look;
	struct stat st;
	bool show = true, inode;
	int result;

	/* mg_is_normal() will not do: it is true if the volume is finished, maybe only since the
	 * attributes were read */
	if (atomic_load(&object->normal) == MG_ALWAYS) {
		if (attrs)
			hide_private(object, attrs, NULL);
		return true;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		if (attrs) {
			show_damaged(attrs);
			hide_private(object, attrs, NULL);
		}
		return true; /* the operation that follows will find out the same */
	}
	inode = attrs && fstat(look.fd, &st) == 0;
	if (result > 0 && look.stub.state == MIGRATE_DUMMY)
		show = false;
	else if (inode && result > 0)
		show_stub(object, attrs, &look.stub, &st);
	else if (inode)
		show_inode(attrs, &st);
	if (attrs)
		hide_private(object, attrs, &look.stub);
	mg_look_done(&look);
	return show;
}

/*
 * The retriever works without the door: it makes names, which changes a directory's links and size,
 * and the links of objects with several names; and it completes files, which changes their space
 * and, once, their ctime.  A notice to MDCACHE could be overtaken by attributes that are on their
 * way into it.  finished, normal: what was known before the attributes were read.
 */
static bool may_move(const struct mg_object *object, bool finished, bool normal,
		     const struct fsal_attrlist *attrs)
{
	if (finished || !object->on_volume)
		return false;
	return object->handle.type == DIRECTORY || !normal || attrs->numlinks > 1;
}

static int64_t now_s(void)
{
	return migrate_in_ms(0).tv_sec;
}

/* Sets how long MDCACHE keeps attributes (NULL: none). */
static void keep(struct mg_object *object, bool finished, bool normal, struct fsal_attrlist *attrs)
{
	const int32_t seconds = op_ctx->export_perms.expire_time_attr; /* -1: for ever; 0: never */
	bool moves;

	if (!attrs || seconds == 0)
		return;
	moves = may_move(object, finished, normal, attrs);
	attrs->expire_time_attr = moves ? KEPT_S : seconds;
	atomic_store(&object->kept_until, moves ? now_s() + KEPT_S : 0);
}

void mg_attrs_renewed(struct mg_object *object, const struct mg_object *duplicate)
{
	const int64_t now = now_s();
	int_fast64_t until = 0;

	if (!atomic_compare_exchange_strong(&object->kept_until, &until,
					    atomic_load(&duplicate->kept_until)) &&
	    now > until &&
	    atomic_compare_exchange_strong(&object->kept_until, &until, now + KEPT_S))
		mg_object_forget(object, false);
}

bool mg_attrs_adopt_since(struct mg_object *object, bool finished, struct fsal_attrlist *attrs)
{
	bool show;

	if (finished)
		atomic_store(&object->normal, MG_ALWAYS);
	show = mg_attrs_adopt(object, attrs);
	keep(object, finished, atomic_load(&object->normal) != MG_UNKNOWN, attrs);
	return show;
}

static fsal_status_t getattrs(struct fsal_obj_handle *handle, struct fsal_attrlist *attrs)
{
	struct mg_object *object = mg_object(handle);
	struct mg_export *export;
	struct mg_look look = {.fd = -1};
	const bool finished = atomic_load(&object->volume->finished);
	fsal_status_t status;
	int result = 0;

	if (!mg_is_normal(object))
		result = mg_look(object, &look);
	export = mg_enter();
	status = object->sub->obj_ops->getattrs(object->sub, attrs);
	mg_leave(export);
	if (!FSAL_IS_ERROR(status) && result > 0)
		show_stub(object, attrs, &look.stub, NULL);
	else if (!FSAL_IS_ERROR(status) && result < 0)
		show_damaged(attrs);
	if (!FSAL_IS_ERROR(status)) {
		hide_private(object, attrs, result > 0 ? &look.stub : NULL);
		keep(object, finished, result == 0, attrs);
	}
	if (look.fd >= 0)
		mg_look_done(&look);
	return status;
}

struct setattr {
	struct mg_object *object;
	bool bypass;
	struct state_t *state;
	struct fsal_attrlist *attrs;
};

static fsal_status_t make_setattr(void *arg)
{
	struct setattr *set = arg;
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = set->object->sub;
	fsal_status_t status = sub->obj_ops->setattr2(sub, set->bypass, set->state, set->attrs);

	mg_leave(export);
	return status;
}

static fsal_status_t setattr2(struct fsal_obj_handle *handle, bool bypass, struct state_t *state,
			      struct fsal_attrlist *attrs)
{
	struct setattr set = {mg_object(handle), bypass, state, attrs};
	bool size = attrs->valid_mask & ATTR_SIZE;
	struct mg_change change = {
		.kind = size ? MIGRATE_TRUNCATE : MIGRATE_ATTRIBUTES,
		.offset = size ? attrs->filesize : 0,
		.make = make_setattr,
		.arg = &set,
	};

	return mg_change(set.object, &change);
}

void mg_attrs_ops_init(struct fsal_obj_ops *ops)
{
	ops->getattrs = getattrs;
	ops->setattr2 = setattr2;
}
