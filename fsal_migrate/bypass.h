/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Exports of this process that have no FSAL MIGRATE, and would show the holes of a volume that is
 * not finished: of its root, of what is in it, and of a directory above.  The guard lets this
 * process read them, so they are refused here: the export without the layer where it comes after a
 * volume's, the volume's own where it is the later one, which leaves this process to the guard.
 */
#ifndef FSAL_MIGRATE_BYPASS_H
#define FSAL_MIGRATE_BYPASS_H

#include "fsal_migrate/door.h"

/* From now on exports of the module are looked at when they are made; never taken back.  Not from
 * two threads. */
void mg_bypass_watch(struct fsal_module *below);
/* Whether one of its exports is in the way already, after a message. */
bool mg_bypass_exists(struct fsal_module *module, struct fsal_module *below);
/* m_ops.create_export of a module that is watched, without the look. */
fsal_status_t mg_bypass_create(struct fsal_module *below, void *node, struct config_error_type *err,
			       const struct fsal_up_vector *up_ops);

#endif
