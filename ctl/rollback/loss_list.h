/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the way back reads in the list of losses (lib/report/losses.h): which names never came, and
 * which objects came as several.  The list is read on as it grows; it is read from the disk.
 */
#ifndef CTL_ROLLBACK_LOSS_LIST_H
#define CTL_ROLLBACK_LOSS_LIST_H

#include "ctl/rollback/tree.h"

/* Notes what the list says now, before a directory of the new server is listed: what comes there
 * afterwards (migratectl rules --apply) has no line any more. */
void loss_list_note(struct tree *tree);
/* Whether the administrator skipped the name (migratectl skip), so that it was never here, or
 * skipped the same name in another directory. */
bool loss_list_skipped(struct tree *tree, const struct node *node);
/* Whether a rule left out what the old server has under that name in the directory: by its path, or
 * by_name: or the same name in another directory. */
bool loss_list_ruled_out(struct tree *tree, const struct node *dir, const char *name, bool by_name);
/* Whether a rule left out that name in the directory, of an object that has, or had, another one:
 * by its path; or, of a file with several names there, by the name alone, unless the journal has it
 * as one that a client took from the object (handle). */
bool loss_list_never_came(struct tree *tree, const struct node *dir, const char *name,
			  const struct migrate_binding *handle);
/* Whether the administrator skipped the directory, or one above it: nobody knows what it has on the
 * old server, so nothing of that was removed here. */
bool loss_list_left(struct tree *tree, const struct node *dir);

/* Whether the old server's object came here as several files, by the report of losses.  It is asked
 * of an object that has several names there. */
bool loss_list_parted(struct tree *tree, uint64_t fileid);

#endif
