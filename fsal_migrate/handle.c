/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/handle.h"

#include <errno.h>

#include "fsal_migrate/attrs.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/fill.h"
#include "fsal_migrate/read.h"
#include "fsal_migrate/takeover/takeover.h"

void mg_object_release(struct fsal_obj_handle *handle)
{
	struct mg_object *object = mg_object(handle);

	if (op_ctx && op_ctx->fsal_export) {
		struct mg_export *export = mg_enter();

		object->sub->obj_ops->release(object->sub);
		mg_leave(export);
	}
	/* Otherwise the host goes down with handles left: it releases those of VFS by itself, or
	 * has done so, and has unloaded the code for that. */
	mg_fill_release(object);
	mg_read_release(object);
	mg_object_let_go(object);
	mg_volume_unref(object->volume);
	compat_handle_fini(handle);
	gsh_free(object);
}

MG_DOWN(fsal_status_t, merge_below, merge,
	(struct fsal_obj_handle * handle, struct fsal_obj_handle *duplicate), sub,
	mg_object(duplicate)->sub)

/* MDCACHE knows the object already, and drops the duplicate. */
static fsal_status_t merge(struct fsal_obj_handle *handle, struct fsal_obj_handle *duplicate)
{
	mg_attrs_renewed(mg_object(handle), mg_object(duplicate));
	return merge_below(handle, duplicate);
}

MG_DOWN(bool, handle_cmp, handle_cmp,
	(struct fsal_obj_handle * handle, struct fsal_obj_handle *other), sub,
	mg_object(other)->sub)

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *handle, fsal_digesttype_t type,
				    struct gsh_buffdesc *fh)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = container_of(handle, struct mg_object, handle)->sub;
	fsal_status_t status = sub->obj_ops->handle_to_wire(sub, type, fh);

	mg_leave(export);
	return status;
}

static void handle_to_key(struct fsal_obj_handle *handle, struct gsh_buffdesc *key)
{
	struct mg_export *export = mg_enter();
	struct fsal_obj_handle *sub = mg_object(handle)->sub;

	sub->obj_ops->handle_to_key(sub, key);
	mg_leave(export);
}

void mg_handle_ops_init(struct fsal_obj_ops *ops)
{
	fsal_default_obj_ops_init(ops);
	ops->release = mg_object_release;
	ops->merge = merge;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->handle_cmp = handle_cmp;
	/* Not the one below: the host keeps the attributes that this reads. */
	ops->is_referral = fsal_common_is_referral;
}

fsal_status_t mg_object_adopt(struct mg_export *export, bool finished, struct fsal_obj_handle *sub,
			      struct fsal_attrlist *attrs, struct fsal_obj_handle **handle)
{
	struct mg_object *object = mg_object_new(export, sub);

	if (!mg_attrs_adopt_since(object, finished, attrs)) {
		mg_object_release(&object->handle);
		return mg_delay();
	}
	*handle = &object->handle;
	return mg_ok();
}

static fsal_status_t lookup_path(struct fsal_export *exp, const char *path,
				 struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;
	struct fsal_obj_handle *sub = NULL;
	bool finished = atomic_load(&export->volume->finished);
	struct gsh_buffdesc key;
	fsal_status_t status;

	*handle = NULL;
	status = below->exp_ops.lookup_path(below, path, &sub, attrs_out);
	mg_leave(export);
	if (FSAL_IS_ERROR(status))
		return status;
	status = mg_object_adopt(export, finished, sub, attrs_out, handle);
	if (FSAL_IS_ERROR(status))
		return status;
	if (!mg_object(*handle)->on_volume) {
		LogMajor(COMPONENT_FSAL, "Volume %s: %s is not on the file system of the export",
			 export->volume->name, path);
		mg_object_release(*handle);
		*handle = NULL;
		return fsalstat(ERR_FSAL_XDEV, EXDEV);
	}
	mg_takeover_refresh(export);
	if (export->has_root && (*handle)->fileid == export->root_fileid) {
		handle_to_key(*handle, &key);
		mg_volume_remember_root(export->volume, key.addr, key.len);
	}
	return status;
}

static fsal_status_t create_handle(struct fsal_export *exp, struct gsh_buffdesc *fh,
				   struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;
	bool finished = atomic_load(&export->volume->finished);
	struct fsal_obj_handle *sub = NULL;
	fsal_status_t status;

	*handle = NULL;
	status = below->exp_ops.create_handle(below, fh, &sub, attrs_out);
	mg_leave(export);
	if (FSAL_IS_ERROR(status))
		return status;
	return mg_object_adopt(export, finished, sub, attrs_out, handle);
}

void mg_handle_export_ops_init(struct export_ops *ops)
{
	ops->lookup_path = lookup_path;
	ops->create_handle = create_handle;
}
