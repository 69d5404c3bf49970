/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* FSAL interface 14: Ganesha 9 */
#include "fsal_migrate/compat.h"

#include "fsal_migrate/volume.h"

void compat_handle_init(struct fsal_obj_handle *handle, struct fsal_export *export,
			object_file_type_t type)
{
	fsal_obj_handle_init(handle, export, type, true);
}

void compat_handle_fini(struct fsal_obj_handle *handle)
{
	fsal_obj_handle_fini(handle, true);
}

static enum fsal_readdir_mode fs_readdir_mode(struct fsal_export *exp)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;
	enum fsal_readdir_mode mode = below->exp_ops.fs_readdir_mode(below);

	mg_leave(export);
	return mode;
}

/* States free themselves; the FSAL below closes its own descriptors. */
void compat_export_ops_init(struct export_ops *ops)
{
	ops->fs_readdir_mode = fs_readdir_mode;
}

bool compat_resumes(const struct fsal_io_arg *arg)
{
	return arg->fsal_resume != FSAL_NORESUME;
}
