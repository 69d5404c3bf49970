/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The attributes of unfinished objects, as clients see them (I8). */
#ifndef ATTRS_H
#define ATTRS_H

#include "object.h"

/*
 * For an object whose state is not known yet and whose attributes were read just before: finds out
 * the state and corrects attrs (NULL: none) accordingly.  false: the object must not be shown, it
 * has no attributes yet.
 */
bool mg_attrs_adopt(struct mg_object *object, struct fsal_attrlist *attrs);

/*
 * The same for an object that was found in a directory: what is in a normal one is normal.
 * before: mg_normal_since(dir) from before the object was looked up.  A directory that has become
 * normal since says nothing of attributes that were read while a fill moved them.
 */
uint64_t mg_normal_since(struct mg_object *dir); /* 0: it is not known to be normal */
/* Likewise for what was found by its handle or a path (dir NULL); 0: something may be left. */
uint64_t mg_finished_since(const struct mg_volume *volume);
bool mg_attrs_adopt_in(struct mg_object *dir, uint64_t before, struct mg_object *object,
		       struct fsal_attrlist *attrs);

/*
 * For attributes (NULL: none) that MDCACHE gets, in an operation: how long it keeps them.  What a
 * fill can still move is asked for again after a second, whatever the export says.
 */
void mg_attrs_keep(struct mg_object *object, struct fsal_attrlist *attrs);

#endif
