/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks hard links: remembers, for objects with several names, which inode here belongs to which
 * object on the old server.  All names of one object must be one inode, and names of different
 * objects must not be.  Takes about 80 bytes for each object with several names, and nothing for
 * others.
 */
#ifndef RETRIEVER_COMPARE_LINK_PAIRS_H
#define RETRIEVER_COMPARE_LINK_PAIRS_H

#include <glib.h>
#include <stdbool.h>

struct link_pairs;

struct link_pairs *link_pairs_new(void);
void link_pairs_free(struct link_pairs *linked);
/* Notes one more name of an object.  FALSE: another name of the object is another inode, or the
 * inode belongs to another object.  Any thread. */
bool link_pairs_note(struct link_pairs *linked, guint64 fileid, guint64 inode);

#endif
