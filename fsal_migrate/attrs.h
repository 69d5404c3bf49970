/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The attributes of unfinished objects, as clients see them (I8). */
#ifndef FSAL_MIGRATE_ATTRS_H
#define FSAL_MIGRATE_ATTRS_H

#include "fsal_migrate/object.h"

/*
 * For an object whose state is not known yet and whose attributes were read just before: finds out
 * the state and corrects attrs (NULL: none) accordingly.  false: the object must not be shown, it
 * has no attributes yet.
 */
bool mg_attrs_adopt(struct mg_object *object, struct fsal_attrlist *attrs);

/*
 * The same; finished: mg_volume.finished from before the attributes were read.  Later it says
 * nothing of attributes that were read while a fill moved them.
 */
bool mg_attrs_adopt_since(struct mg_object *object, bool finished, struct fsal_attrlist *attrs);

/*
 * For attributes (NULL: none) that MDCACHE gets, in an operation: how long it keeps them.  What a
 * fill can still move is asked for again after a second, whatever the export says.
 */
void mg_attrs_keep(struct mg_object *object, struct fsal_attrlist *attrs);

#endif
