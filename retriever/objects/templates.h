/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Templates of the old server's file handles, in .migrate/handles: handles of one export differ in
 * few bytes, so a record keeps only the difference from a template.  There are at most 16
 * templates.  A template is appended to the file and never changed, and it is durable before the
 * first record that needs it is written.
 */
#ifndef RETRIEVER_OBJECTS_TEMPLATES_H
#define RETRIEVER_OBJECTS_TEMPLATES_H

#include "retriever/objects/retriever.h"

#define TEMPLATES_FILE "handles"

struct templates;

/* Loads .migrate/handles of private_fd (-1: none yet).  NULL with error set when it is damaged, or
 * not there though the volume is attached. */
struct templates *templates_new(int private_fd, bool attached, GError **error);
void templates_free(struct templates *templates);
/* The private directory was made (attach), or is gone (-1).  A private directory that comes from a
 * copy has templates already.  0 or -errno. */
int templates_set_directory(struct templates *templates, int private_fd);

/* Puts the handle into *rec, as a difference where that is shorter.  Any thread; may write a new
 * template to the disk. */
void templates_shrink(struct templates *templates, const uint8_t *handle, uint8_t len,
		      struct migrate_record *rec);
/* The handle of a record that has a difference.  0, -ESTALE when its template is not there. */
int templates_expand(struct templates *templates, const struct migrate_record *rec,
		     struct source_object *source);

/* Whether the record has that handle, which has a length.  FALSE also where it has none. */
bool templates_has(struct templates *templates, const struct migrate_record *rec,
		   const uint8_t *handle, uint8_t len);

#endif
