/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* FSAL interface 11: Ganesha 4 */
#include "fsal_migrate/compat.h"

#include "fsal_migrate/volume.h"

void compat_handle_init(struct fsal_obj_handle *handle, struct fsal_export *export,
			object_file_type_t type)
{
	fsal_obj_handle_init(handle, export, type);
}

void compat_handle_fini(struct fsal_obj_handle *handle)
{
	fsal_obj_handle_fini(handle);
}

static void free_state(struct fsal_export *exp, struct state_t *state)
{
	struct mg_export *export = mg_enter();
	struct fsal_export *below = export->fsal.sub_export;

	below->exp_ops.free_state(below, state);
	mg_leave(export);
}

void compat_export_ops_init(struct export_ops *ops)
{
	ops->free_state = free_state;
}

bool compat_resumes(const struct fsal_io_arg *arg)
{
	return false;
}
