/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Corrects the attributes of unfinished objects to those that clients are to see (I8). */
#ifndef FSAL_MIGRATE_ATTRS_H
#define FSAL_MIGRATE_ATTRS_H

#include "fsal_migrate/object.h"

/*
 * For an object whose state is not known yet and whose attributes were read just before: finds out
 * the state and corrects attrs (NULL: none) accordingly.  false: the object must not be shown, as
 * it has no attributes yet.
 */
bool mg_attrs_adopt(struct mg_object *object, struct fsal_attrlist *attrs);

/*
 * The same.  finished: the value that mg_volume.finished had before the attributes were read.  Its
 * value afterwards would say nothing about attributes that were read while a fill moved them.
 */
bool mg_attrs_adopt_since(struct mg_object *object, bool finished, struct fsal_attrlist *attrs);

/*
 * Sets how long MDCACHE keeps attributes (NULL: none); in an operation.  Attributes that a fill can
 * still change are asked for again after a second, whatever the export says.
 */
void mg_attrs_keep(struct mg_object *object, struct fsal_attrlist *attrs);

#endif
