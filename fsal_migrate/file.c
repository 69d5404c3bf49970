/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/ops.h"

#include <errno.h>
#include <string.h>

#include "fsal_migrate/attrs.h"
#include "fsal_migrate/bracket.h"
#include "fsal_migrate/call.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/fill.h"
#include "fsal_migrate/handle.h"
#include "fsal_migrate/private.h"

/* ---- open ----------------------------------------------------------------------------------- */

struct truncation {
	struct mg_object *object;
	struct state_t *state;
	/* How the file is truncated first; later truncations are plain. */
	const struct mg_open *open; /* by opening */
	bool reopen;		    /* by reopening */
	fsal_openflags_t flags;
	bool opened;
};

static fsal_status_t truncate_below(struct truncation *t)
{
	struct fsal_obj_handle *sub = t->object->sub;
	struct fsal_attrlist attrs;

	memset(&attrs, 0, sizeof(attrs));
	attrs.valid_mask = ATTR_SIZE;
	return sub->obj_ops->setattr2(sub, true, t->state, &attrs);
}

static fsal_status_t make_truncation(void *arg)
{
	struct truncation *t = arg;
	struct fsal_obj_handle *sub = t->object->sub, *none = NULL;
	struct mg_export *export = mg_enter();
	fsal_status_t status;

	if (t->opened)
		status = truncate_below(t);
	else if (t->reopen)
		status = sub->obj_ops->reopen2(sub, t->state, t->flags);
	else
		status = compat_open2(sub, t->open, t->flags, &none);
	mg_leave(export);
	if (!FSAL_IS_ERROR(status))
		t->opened = true;
	return status;
}

MG_DOWN(fsal_status_t, close_state, close2,
	(struct fsal_obj_handle * handle, struct state_t *state), sub, state)

static fsal_status_t open_object(struct mg_object *object, const struct mg_open *open)
{
	struct truncation t = {
		.object = object, .state = open->state, .open = open, .flags = open->flags};
	struct mg_change change = {.kind = MIGRATE_TRUNCATE, .make = make_truncation, .arg = &t};
	bool normal = mg_is_normal(object);
	fsal_status_t status;

	/* FSAL VFS compares an exclusive open's verifier when the file is truncated. */
	if (open->create >= FSAL_EXCLUSIVE && !normal)
		t.flags &= ~FSAL_O_TRUNC;
	status = t.flags & FSAL_O_TRUNC ? mg_change(object, &change) : make_truncation(&t);
	if (!FSAL_IS_ERROR(status) && t.flags != open->flags)
		status = mg_change(object, &change);
	if (FSAL_IS_ERROR(status) && t.opened && open->state)
		close_state(&object->handle, open->state);
	/* the object may have become normal since the attributes were read, while a fill moved
	 * them */
	if (!FSAL_IS_ERROR(status) && open->attrs_out && !normal)
		mg_attrs_adopt(object, open->attrs_out);
	return status;
}

/* A file that was opened by name without being truncated is truncated now. */
static fsal_status_t truncate_opened(struct mg_object *object, const struct mg_open *open)
{
	struct truncation t = {.object = object, .state = open->state, .opened = true};
	struct mg_change change = {.kind = MIGRATE_TRUNCATE, .make = make_truncation, .arg = &t};
	struct fsal_obj_handle *handle = &object->handle;
	fsal_status_t status = mg_ok();

	/* The open call would have checked this permission itself. */
	if (!(open->flags & FSAL_O_WRITE))
		status = handle->obj_ops->test_access(handle, FSAL_WRITE_ACCESS, NULL, NULL, false);
	if (!FSAL_IS_ERROR(status))
		status = mg_change(object, &change);
	if (!FSAL_IS_ERROR(status) && open->attrs_out)
		status = handle->obj_ops->getattrs(handle, open->attrs_out);
	return status;
}

/* NO_FILE_TYPE: no such name was found. */
static object_file_type_t type_of_name(struct mg_object *dir, const char *name)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = NULL;
	object_file_type_t type = NO_FILE_TYPE;

	(void)dir->sub->obj_ops->lookup(dir->sub, name, &sub, NULL);
	if (sub) {
		type = sub->type;
		sub->obj_ops->release(sub);
	}
	mg_leave(export);
	return type;
}

/* attrs: what the FSAL below returned when it opened the file, or NULL. */
static bool is_empty(struct mg_object *object, const struct fsal_attrlist *attrs)
{
	struct mg_look look;
	struct stat st;
	bool empty;

	if (mg_is_normal(object) && attrs && (attrs->valid_mask & ATTR_SIZE))
		return attrs->filesize == 0;
	if (mg_look(object, &look) < 0)
		return false;
	empty = look.stub.state == MIGRATE_NORMAL && fstat(look.fd, &st) == 0 && st.st_size == 0;
	mg_look_done(&look);
	return empty;
}

/* fresh: the name was not there before, so an empty file was made just now, with the times that
 * were asked for. */
static fsal_status_t opened_by_name(struct mg_export *export, struct mg_object *dir, bool finished,
				    struct fsal_obj_handle *sub, const struct mg_open *open,
				    bool truncate, bool fresh)
{
	struct mg_object *object = mg_object_new(export, sub);
	fsal_status_t status = mg_ok();

	if (!mg_attrs_adopt_since(object, finished, open->attrs_out)) {
		mg_fetch_name_start(dir, open->name);
		status = mg_delay();
	}
	if (!FSAL_IS_ERROR(status) && truncate && !(fresh && is_empty(object, open->attrs_out)))
		status = truncate_opened(object, open);
	if (FSAL_IS_ERROR(status)) {
		if (open->state)
			close_state(&object->handle, open->state);
		mg_object_release(&object->handle);
		return status;
	}
	*open->made = &object->handle;
	return status;
}

static fsal_status_t open_name(struct mg_object *dir, const struct mg_open *open)
{
	bool finished = atomic_load(&dir->volume->finished), fresh = false;
	fsal_openflags_t flags = open->flags;
	struct fsal_obj_handle *sub = NULL;
	struct mg_export *export;
	object_file_type_t type;
	fsal_status_t status;

	if (open->create != FSAL_NO_CREATE)
		status = mg_may_name(dir, open->name);
	else if (mg_hidden(dir, open->name))
		status = fsalstat(ERR_FSAL_NOENT, ENOENT);
	else
		status = mg_fill_name(dir, open->name);
	if (FSAL_IS_ERROR(status))
		return status;
	/* From GUARDED on the open makes a new file or fails. */
	if (open->create < FSAL_GUARDED && !finished) {
		/* FSAL VFS would follow a symbolic link, whose target may not be here yet, or make
		 * the target. */
		type = type_of_name(dir, open->name);
		if (type == SYMBOLIC_LINK)
			return fsalstat(ERR_FSAL_SYMLINK, 0);
		/* Which object the name stands for is known when it is open, and then truncation
		 * may need a bracket. */
		flags &= ~FSAL_O_TRUNC;
		fresh = type == NO_FILE_TYPE && open->create != FSAL_NO_CREATE;
	}
	export = mg_enter();
	status = compat_open2(dir->sub, open, flags, &sub);
	mg_leave(export);
	if (FSAL_IS_ERROR(status) || !sub)
		return status;
	return opened_by_name(export, dir, finished, sub, open, flags != open->flags, fresh);
}

static fsal_status_t open_either(struct mg_object *object, const struct mg_open *open)
{
	return open->name ? open_name(object, open) : open_object(object, open);
}

static fsal_status_t reopen2(struct fsal_obj_handle *handle, struct state_t *state,
			     fsal_openflags_t flags)
{
	struct truncation t = {
		.object = mg_object(handle), .state = state, .reopen = true, .flags = flags};
	struct mg_change change = {.kind = MIGRATE_TRUNCATE, .make = make_truncation, .arg = &t};

	return flags & FSAL_O_TRUNC ? mg_change(t.object, &change) : make_truncation(&t);
}

/* ---- operations that go down unchanged ------------------------------------------------------- */

MG_DOWN(bool, check_verifier, check_verifier,
	(struct fsal_obj_handle * handle, fsal_verifier_t verifier), sub, verifier)
MG_DOWN(fsal_openflags_t, status2, status2,
	(struct fsal_obj_handle * handle, struct state_t *state), sub, state)
MG_DOWN(fsal_status_t, io_advise2, io_advise2,
	(struct fsal_obj_handle * handle, struct state_t *state, struct io_hints *hints), sub,
	state, hints)
MG_DOWN(fsal_status_t, lock_op2, lock_op2,
	(struct fsal_obj_handle * handle, struct state_t *state, void *owner, fsal_lock_op_t op,
	 fsal_lock_param_t *lock, fsal_lock_param_t *conflict),
	sub, state, owner, op, lock, conflict)

MG_DOWN(fsal_status_t, close_handle, close, (struct fsal_obj_handle * handle), sub)

static fsal_status_t close2(struct fsal_obj_handle *handle, struct state_t *state)
{
	fsal_status_t status = close_state(handle, state);

	/* MDCACHE may hold the object for long after it was unlinked and closed. */
	mg_object_let_go(mg_object(handle));
	return status;
}

/* ---- seek, allocate, commit ------------------------------------------------------------------ */

MG_DOWN(fsal_status_t, seek_below, seek2,
	(struct fsal_obj_handle * handle, struct state_t *state, struct io_info *info), sub, state,
	info)

struct seeking {
	struct mg_object *object;
	struct state_t *state;
	fsal_status_t status;
};

static int seek_file(void *arg, bool hole, uint64_t offset, uint64_t *at)
{
	struct seeking *seeking = arg;
	struct io_info info = {.io_content.what = hole ? NFS4_CONTENT_HOLE : NFS4_CONTENT_DATA};

	info.io_content.hole.di_offset = offset;
	seeking->status = seek_below(&seeking->object->handle, seeking->state, &info);
	if (FSAL_IS_ERROR(seeking->status))
		return -EIO;
	*at = info.io_content.hole.di_offset;
	return info.io_eof && !hole ? -ENXIO : 0;
}

static fsal_status_t seek_stub(struct mg_object *object, struct state_t *state,
			       struct io_info *info, const struct mg_look *look)
{
	struct seeking seeking = {.object = object, .state = state};
	struct migrate_seek seek = {.below = seek_file, .arg = &seeking};
	bool hole = info->io_content.what == NFS4_CONTENT_HOLE;
	uint64_t *at = &info->io_content.hole.di_offset;
	struct stat st;
	int result;

	if (fstat(look->fd, &st) < 0)
		return fsalstat(ERR_FSAL_IO, errno);
	seek.size = st.st_size;
	seek.block = st.st_blksize;
	result = migrate_stub_seek(&look->stub, &seek, hole, *at, at);
	if (result < 0 && result != -ENXIO)
		return seeking.status;
	info->io_eof = result < 0 || *at >= seek.size;
	return mg_ok();
}

/* mg_look(), after the file's dirty ranges were settled: then its holes are real ones. */
static int look_to_seek(struct mg_object *object, struct mg_look *look)
{
	int result = mg_look(object, look);

	if (result <= 0 || !migrate_stub_dirty(&look->stub))
		return result;
	result = mg_call_run(mg_call_new(object->volume, mg_look_steal_fd(look), -1),
			     mg_call_settle);
	mg_look_done(look);
	return result < 0 ? result : mg_look(object, look);
}

static fsal_status_t seek2(struct fsal_obj_handle *handle, struct state_t *state,
			   struct io_info *info)
{
	struct mg_object *object = mg_object(handle);
	bool known = info->io_content.what == NFS4_CONTENT_DATA ||
		     info->io_content.what == NFS4_CONTENT_HOLE;
	struct mg_look look;
	fsal_status_t status;
	int result;

	if (mg_is_whole(object) || !known)
		return seek_below(handle, state, info);
	result = look_to_seek(object, &look);
	if (result < 0)
		return mg_look_status(result);
	if (result > 0) {
		status = seek_stub(object, state, info, &look);
		result = migrate_stub_confirm(look.fd, &look.stub.version);
		/* the next request looks at the file anew */
		if (!FSAL_IS_ERROR(status) && result <= 0)
			status = result < 0 ? mg_look_status(result) : mg_delay();
	} else {
		status = seek_below(handle, state, info);
	}
	mg_look_done(&look);
	return status;
}

struct allocation {
	struct mg_object *object;
	struct state_t *state;
	uint64_t offset, length;
	bool allocate;
};

static fsal_status_t make_allocation(void *arg)
{
	struct allocation *a = arg;
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = a->object->sub;
	fsal_status_t status =
		sub->obj_ops->fallocate(sub, a->state, a->offset, a->length, a->allocate);

	mg_leave(export);
	return status;
}

static fsal_status_t allocate(struct fsal_obj_handle *handle, struct state_t *state,
			      uint64_t offset, uint64_t length, bool keep)
{
	struct allocation a = {mg_object(handle), state, offset, length, keep};
	struct mg_change change = {.kind = keep ? MIGRATE_ATTRIBUTES : MIGRATE_PUNCH,
				   .offset = offset,
				   .length = length,
				   .make = make_allocation,
				   .arg = &a};

	return mg_change(a.object, &change);
}

MG_DOWN(fsal_status_t, commit_below, commit2,
	(struct fsal_obj_handle * handle, off_t offset, size_t len), sub, offset, len)

/*
 * The data below are synced first; then the record, which must not tell of less than is on disk.
 * If the record was dropped since the data were synced, that must be durable, too.
 */
static fsal_status_t sync_record(struct mg_object *object, off_t offset, size_t len)
{
	struct mg_look look;
	int result = mg_look(object, &look);

	if (result < 0)
		return mg_look_status(result);
	if (result == 0) {
		mg_look_done(&look);
		return commit_below(&object->handle, offset, len);
	}
	result =
		mg_call_run(mg_call_new(object->volume, mg_look_steal_fd(&look), -1), mg_call_sync);
	mg_look_done(&look);
	return mg_status(result);
}

static fsal_status_t commit2(struct fsal_obj_handle *handle, off_t offset, size_t len)
{
	struct mg_object *object = mg_object(handle);
	bool normal = mg_is_normal(object);
	fsal_status_t status = commit_below(handle, offset, len);

	if (FSAL_IS_ERROR(status) || normal)
		return status;
	return sync_record(object, offset, len);
}

void mg_file_ops_init(struct fsal_obj_ops *ops)
{
	ops->reopen2 = reopen2;
	ops->check_verifier = check_verifier;
	ops->status2 = status2;
	ops->seek2 = seek2;
	ops->io_advise2 = io_advise2;
	ops->commit2 = commit2;
	ops->lock_op2 = lock_op2;
	ops->close2 = close2;
	ops->close = close_handle;
	ops->fallocate = allocate;
	mg_names.open2 = open_either;
}
