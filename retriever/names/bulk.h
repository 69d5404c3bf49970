/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole directories in the background, for the crawler: the names, then the data of every
 * unfinished file in it, many at a time.  A file that fails is listed and does not stop the others,
 * and neither does a name that cannot be made.
 */
#ifndef RETRIEVER_NAMES_BULK_H
#define RETRIEVER_NAMES_BULK_H

#include "retriever/objects/object.h"

/* done(0): every file's data is here or its failure listed.  Else the fill failed, and that holds
 * for the files that it brought. */
void bulk_start(struct object *directory, object_done_fn done, void *arg);

#endif
