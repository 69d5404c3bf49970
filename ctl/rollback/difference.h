/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a scan of the journal found (JOURNAL_SCANNED) may not have been changed at all: it is
 * compared with what the old server has before anything is done there, and what is the same is
 * left alone.  Sizes and times do not say that a file is the same, as anybody can set a time back:
 * where they are, the bytes of both sides are read, unless the retriever has noted that the file
 * was not touched since it became whole (fill_notes.h).
 */
#ifndef CTL_ROLLBACK_DIFFERENCE_H
#define CTL_ROLLBACK_DIFFERENCE_H

#include "ctl/rollback/tree.h"

/* Of enum todo DATA and META: what of them the object differs in, which is there.  Blocks for both
 * servers, changes nothing.  What cannot be read differs: who carries it will say why. */
unsigned difference_of(struct tree *tree, struct node *node, unsigned todo);
/* Whether what has no bytes of its own (a symbolic link, a device) is the same as the one there at
 * the path, st. */
bool difference_is_none(const struct tree *tree, const struct node *node, const char *path,
			const struct stat *st);

/* The ctime that it had when it got the data that it has: its names and attributes are of ours. */
int64_t difference_version(const struct node *node);
/* Whether nobody touched it there, as far as its times tell. */
bool difference_is_as_left(const struct tree *tree, const struct node *node);
/* Whether somebody else gave it a name there that it never had here. */
bool difference_is_renamed(const struct tree *tree, const struct node *node);
/* Nobody touched the old root: TARGET_STAGE moves its ctime. */
bool difference_root_is_as_left(const struct tree *tree);
/* Whether somebody else changed it there, and not to what is here. */
bool difference_by_others(const struct tree *tree, const struct node *node);
/* And has other rights there than here, for which nothing stands here: attrs_remember() is for
 * that. */
bool difference_of_rights(const struct tree *tree, const struct node *node);

#endif
