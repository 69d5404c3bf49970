/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directory lost+found that mkfs and e2fsck(8) make at the root of an ext4.  It has no record,
 * so that it would be taken for the old server's, and whole.  What is at that name at the root of a
 * volume is the old server's, as at any other: mkfs's goes before the root's record is set, and
 * e2fsck's, who makes it in each check where it is not there, before anything else is made in a
 * root that is not filled yet.  In one that is, it is a directory like one that a local program
 * makes.
 */
#ifndef RETRIEVER_COPIES_LOST_FOUND_H
#define RETRIEVER_COPIES_LOST_FOUND_H

#include "retriever/objects/retriever.h"

/* Before the root's record is set.  0; -ENOTEMPTY: it has something in it, or is no directory;
 * -errno. */
int lost_found_remove(int root_fd);
/* " (its lost+found has something in it)", or "": for who is told that the root is not empty. */
const char *lost_found_text(int root_fd);
/* At the start, after counters_load().  What e2fsck has put into it goes aside with it (aside.h).
 * FALSE with error set: it stands there still. */
gboolean lost_found_leaves(struct retriever *retriever, GError **error);

#endif
