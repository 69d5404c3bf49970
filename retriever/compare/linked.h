/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which inode here is which object there, of those that have several names: names of one object
 * must be one inode, and no others may be.  About 80 bytes for each such object; nothing is kept of
 * the others.
 */
#ifndef RETRIEVER_COMPARE_LINKED_H
#define RETRIEVER_COMPARE_LINKED_H

#include <glib.h>
#include <stdbool.h>

struct linked;

struct linked *linked_new(void);
void linked_free(struct linked *linked);
/* One more name of it.  FALSE: another name of the object is another inode, or the inode is another
 * object's.  Any thread. */
bool linked_note(struct linked *linked, guint64 fileid, guint64 inode);

#endif
