/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Refuses exports that bypass the layer.  An export without FSAL MIGRATE, of an unfinished volume's
 * root, of a directory in the volume or of one above it, would show the volume's holes.  The guard
 * lets this process read them, so the later export is refused here: the one without the layer, if
 * it comes after a volume's export; else the volume's export, and then the guard does not let this
 * process read them.
 */
#ifndef FSAL_MIGRATE_BYPASS_H
#define FSAL_MIGRATE_BYPASS_H

#include "fsal_migrate/door.h"

/* From now on each export of the module is looked at when it is made; this is never undone.  Not
 * from two threads. */
void mg_bypass_watch(struct fsal_module *below);
/* Whether an export of `below` without `module` bypasses a volume already, or the directory root_fd
 * (-1: none), of which nothing is exported yet; then after a message. */
bool mg_bypass_exists(struct fsal_module *module, struct fsal_module *below, int root_fd);
/* The own m_ops.create_export of a module that is watched, without the look. */
fsal_status_t mg_bypass_create(struct fsal_module *below, void *node, struct config_error_type *err,
			       const struct fsal_up_vector *up_ops);

#endif
