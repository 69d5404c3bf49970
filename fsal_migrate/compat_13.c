/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* FSAL interface 13: Ganesha 6 */
#include "fsal_migrate/compat.h"

void compat_handle_init(struct fsal_obj_handle *handle, struct fsal_export *export,
			object_file_type_t type)
{
	fsal_obj_handle_init(handle, export, type, true);
}

void compat_handle_fini(struct fsal_obj_handle *handle)
{
	fsal_obj_handle_fini(handle, true);
}

/* States free themselves; the FSAL below closes its own descriptors. */
void compat_export_ops_init(struct export_ops *ops)
{
}

bool compat_resumes(const struct fsal_io_arg *arg)
{
	return arg->fsal_resume != FSAL_NORESUME;
}
