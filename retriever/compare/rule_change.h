/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules that changed while the volume migrates (migratectl rules): finds what is here and a rule
 * names, and what was left out and no rule names any more; and sets the former aside, and brings
 * the latter.
 *
 * What goes must be the old server's alone.  The journal decides (clients.h): an object goes if it
 * has no row, if no directory above it was made or moved, and if that is true of all that is in it.
 * Records are looked at besides, and leases tell who has a file open.  First all this is summed up
 * with each object's ctime, then the journal settles, and then the sum must be the same: so no
 * change falls between the look and the journal's answer.  It is compared once more right before
 * the move, and after it: a large directory is looked at for long.
 *
 * What may crash where: the way back takes a name that is on the old server and not here for one
 * that clients removed, unless the report has its line (ctl/rollback/loss_list.h).  So the line of
 * an object is durable before the object leaves, and stays until the object is durable here again.
 * A crash in between leaves a line whose object is here, which makes the way back more careful,
 * never less; the next run ends what was begun.  In that one gap, what was just brought and then
 * removed by a client comes again.
 */
#ifndef RETRIEVER_COMPARE_RULE_CHANGE_H
#define RETRIEVER_COMPARE_RULE_CHANGE_H

#include "retriever/objects/retriever.h"

/*
 * The command.  argument: "look SUM" or "apply SUM"; SUM: rules_sum() of the rules that are meant,
 * which must be the retriever's.  Slow thread; walks the tree, waits for the journal, the old
 * server and the disk.  0 with *text: "[rules] aside brought stays failed", "[rule N] text objects
 * bytes aside left brought" for each rule that there is something of, "[stays N] path why" for the
 * first that stay; or -errno with one line.
 */
int rule_change(struct retriever *retriever, const char *argument, char **text);

#endif
