/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef FSAL_MIGRATE_UP_H
#define FSAL_MIGRATE_UP_H

#include "fsal_migrate/volume.h"

/*
 * Makes MDCACHE forget the attributes, and of a directory with names what it knows to be there and
 * not to be there, of the object with this key; from a thread of the pool.  Then done (may be
 * NULL), at once where that is not possible.
 */
void mg_up_invalidate(struct mg_volume *volume, const void *key, size_t len, bool names,
		      void (*done)(void *arg), void *arg);

#endif
