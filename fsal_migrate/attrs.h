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
 * The same, in an operation; and sets how long MDCACHE keeps them: a second, whatever the export
 * says, where a fill can still change them.  finished: the value that mg_volume.finished had before
 * the attributes were read.  Its value afterwards would say nothing about attributes that were read
 * while a fill moved them.
 */
bool mg_attrs_adopt_since(struct mg_object *object, bool finished, struct fsal_attrlist *attrs);

/*
 * When a lookup finds an object that MDCACHE knows, MDCACHE takes the attributes that it has for
 * ones that were read just now (4.3 to 9.14).  Those of what is looked up all the time would never
 * expire.  So it is told to forget them when they were read more than a second ago and may have
 * changed.  A listing gives it the duplicate's attributes.  In an operation; does not block.
 */
void mg_attrs_renewed(struct mg_object *object, const struct mg_object *duplicate);

#endif
