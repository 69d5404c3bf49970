/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Handles: how the host gets objects, identifies them, and gives them back. */
#ifndef FSAL_MIGRATE_HANDLE_H
#define FSAL_MIGRATE_HANDLE_H

#include "fsal_migrate/object.h"

/*
 * Makes the module's object for sub, with its state and with the attributes to show; finished: as
 * for mg_attrs_adopt_since().  Objects in a normal directory are looked at, too: a program of this
 * machine may have moved a stub there.  ok; DELAY: the object has no attributes yet, and *handle is
 * not set.
 */
fsal_status_t mg_object_adopt(struct mg_export *export, bool finished, struct fsal_obj_handle *sub,
			      struct fsal_attrlist *attrs, struct fsal_obj_handle **handle);
/* In an operation, outside of enter and leave. */
void mg_object_release(struct fsal_obj_handle *handle);
void mg_handle_ops_init(struct fsal_obj_ops *ops);
void mg_handle_export_ops_init(struct export_ops *ops);

#endif
