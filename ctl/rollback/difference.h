/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares objects on both servers.  An object that a scan of the journal found (JOURNAL_SCANNED)
 * may not have been changed at all, so it is compared with the old server's object before anything
 * is done there, and is left alone if it is the same.  Sizes and times do not prove that a file is
 * the same, as anybody can set a time back: where the sizes agree, the bytes of both sides are
 * read, unless the retriever has noted that the file was not touched since it became whole
 * (fill_notes.h).
 */
#ifndef CTL_ROLLBACK_DIFFERENCE_H
#define CTL_ROLLBACK_DIFFERENCE_H

#include "ctl/rollback/tree.h"

/* Which of todo (TODO_DATA, TODO_META) the object differs in from the old server's, which is there.
 * An object that cannot be read counts as different: the step that carries it says why.  Blocks for
 * both servers, changes nothing on either. */
unsigned difference_of(struct tree *tree, struct node *node, unsigned todo);
/* Whether an object without bytes of its own (a symbolic link, a device) is the same as the one at
 * path on the old server, which has the attributes st. */
bool difference_is_none(const struct tree *tree, const struct node *node, const char *path,
			const struct stat *st);

/* The ctime that the old server's object had when it got its present data.  Names and attributes
 * that the way back gave may have moved its ctime since. */
int64_t difference_version(const struct node *node);
/* Whether somebody else gave the object a name on the old server that it never had here. */
bool difference_is_renamed(const struct tree *tree, const struct node *node);
/* Whether nobody else has touched the root on the old server.  TARGET_STAGE moves its ctime: if a
 * killed run left that there, the moved ctime is not taken for somebody else's doing. */
bool difference_root_is_as_left(const struct tree *tree);
/* Whether somebody else changed the object on the old server, to something that is not here. */
bool difference_by_others(const struct tree *tree, const struct node *node);
/* Whether somebody else changed it there, and its rights there differ from those here.  False if
 * rights here only stand for others: attrs_remember() deals with these. */
bool difference_of_rights(const struct tree *tree, const struct node *node);

#endif
