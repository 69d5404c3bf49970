/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What leaves its place on the old server may have been changed there since it was planned, by
 * somebody who knows nothing of the way back.  So it is compared with what was planned, or with
 * what the last step left, right before the step; and what the step took away is looked at again in
 * TARGET_STAGE, where nobody finds it by a path, before it is removed.  What differs is a conflict,
 * and goes back to its place, or stays in TARGET_STAGE if that is taken by then.
 *
 * What is to be removed is parked there (STAGE_PARKED); a former version is STAGE_FORMER, a name
 * that goes STAGE_DROPPED.  Who is killed before it is removed leaves an object that the next run
 * finds as one that was parked (over SMB also a former version whose place is empty yet), or that
 * displace_clean() compares with what ledger.h noted of it before the step.
 *
 * 0 or -errno; -ECANCELED: it was not done, and why is listed, or it is for the next run.
 */
#ifndef CTL_ROLLBACK_DISPLACE_H
#define CTL_ROLLBACK_DISPLACE_H

#include "ctl/rollback/tree.h"

/* Whether it is what is known of the node.  moved: a step of ours may have moved its ctime. */
bool displace_is_known(const struct node *node, const struct stat *st, bool moved);
/* What the node is has been changed there: a conflict in later runs, too.  -ECANCELED. */
int displace_conflict(struct tree *tree, struct node *node, GError **error);

/* The node's new version, or its link, comes from a path in TARGET_STAGE to one that is `over`'s,
 * no directory: the former version, which displace_former() is for, or what gives way. */
int displace_replace(struct tree *tree, struct node *node, const char *from, const char *to,
		     struct node *over, GError **error);
/* When the new version is durable. */
void displace_former(struct tree *tree, struct node *node, GError **error);
/* Removes a name of what keeps another one. */
int displace_drop(struct tree *tree, struct node *node, const char *path, GError **error);
/* Removes the object from the first of its places. */
int displace_remove(struct tree *tree, struct node *node, GError **error);
/* What is under the name of a new version in TARGET_STAGE, and is none: a STAGE_DROPPED from now
 * on, which stays until it is known to be what was to go.  *aside, or NULL: its name; g_free. */
int displace_aside(struct tree *tree, const char *name, const struct stat *st, char **aside);
/* What an earlier run left under that name in TARGET_STAGE: whether it was a former version, which
 * is gone then, or a conflict; or what came out of its place, or *error is set. */
bool displace_clean(struct tree *tree, const char *name, const struct stat *st, GError **error);

#endif
