/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which inode here is which object there, of those that have several names: names of one object
 * must be one inode, and no others may be.  About 80 bytes for each such object; nothing is kept of
 * the others.
 */
#ifndef RETRIEVER_COMPARE_LINK_PAIRS_H
#define RETRIEVER_COMPARE_LINK_PAIRS_H

#include <glib.h>
#include <stdbool.h>

struct link_pairs;

struct link_pairs *link_pairs_new(void);
void link_pairs_free(struct link_pairs *linked);
/* One more name of it.  FALSE: another name of the object is another inode, or the inode is another
 * object's.  Any thread. */
bool link_pairs_note(struct link_pairs *linked, guint64 fileid, guint64 inode);

#endif
