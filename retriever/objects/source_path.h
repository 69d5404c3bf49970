/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an object is on the old server, by the records of the directories above it. */
#ifndef RETRIEVER_OBJECTS_SOURCE_PATH_H
#define RETRIEVER_OBJECTS_SOURCE_PATH_H

#include "retriever/objects/object.h"

/* The path of an open file or directory below the source's root, NULL if it cannot be told.
 * g_free.  Blocks for the disk. */
char *source_path_of(struct object *object);
/* The same for the directory that holds an open file; *name is the file's name in that directory.
 * The caller frees *name with g_free(), also where NULL is returned. */
char *source_path_of_parent(struct object *object, char **name);

#endif
