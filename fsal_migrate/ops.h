/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What main.c hands to the host. */
#ifndef FSAL_MIGRATE_OPS_H
#define FSAL_MIGRATE_OPS_H

#include "fsal_migrate/door.h"

fsal_status_t mg_create_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, const struct fsal_up_vector *up_ops);
fsal_status_t mg_update_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, struct fsal_export *original,
			       struct fsal_module *super);

/* Each part enters its operations, there and in mg_names. */
void mg_namespace_ops_init(struct fsal_obj_ops *ops);
void mg_file_ops_init(struct fsal_obj_ops *ops);
void mg_write_ops_init(struct fsal_obj_ops *ops);
void mg_attrs_ops_init(struct fsal_obj_ops *ops);
void mg_xattrs_ops_init(struct fsal_obj_ops *ops);
void mg_rename_ops_init(void);

#endif
