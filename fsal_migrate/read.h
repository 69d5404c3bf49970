/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef FSAL_MIGRATE_READ_H
#define FSAL_MIGRATE_READ_H

#include "fsal_migrate/object.h"

/* The operation read2 of the module's objects. */
void mg_read2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *arg, void *caller_arg);
/* The object goes away: cancels the fetches that are still under way for it. */
void mg_read_release(struct mg_object *object);

#endif
