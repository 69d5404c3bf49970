/* SPDX-License-Identifier: LGPL-3.0-or-later */
#ifndef FSAL_MIGRATE_UP_H
#define FSAL_MIGRATE_UP_H

#include "fsal_migrate/volume.h"

/*
 * Makes MDCACHE forget the attributes of the object with this key, and with names also which names
 * it knows to be in the directory, and which not; in a thread of the pool.  Then calls done (may be
 * NULL); if MDCACHE cannot be told, at once.
 */
void mg_up_invalidate(struct mg_volume *volume, const void *key, size_t len, bool names,
		      void (*done)(void *arg), void *arg);

#endif
