/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An object that leaves its place on the old server may have been changed there after the plan was
 * made, by somebody who knows nothing of the way back.  So it is compared with what was planned, or
 * with what the last step left, right before the step; and what the step took away is looked at
 * again in TARGET_STAGE, where nobody finds it by a path, before it is removed.  An object that
 * differs is a conflict, and goes back to its place, or stays in TARGET_STAGE if that place is
 * taken by then.
 *
 * In TARGET_STAGE an object that is to be removed is STAGE_PARKED, a former version is
 * STAGE_FORMER, and a name that goes is STAGE_DROPPED.  A run that is killed before it removes such
 * an object leaves it there.  The next run finds it as one that was parked (over SMB also as a
 * former version whose place is still empty), or displace_clean() compares it with what ledger.h
 * noted of it before the step.
 *
 * Functions return 0 or -errno; -ECANCELED: the step was not done, and the reason is listed, or the
 * object is left for the next run.
 */
#ifndef CTL_ROLLBACK_DISPLACE_H
#define CTL_ROLLBACK_DISPLACE_H

#include "ctl/rollback/tree.h"

/* Whether st is what is known of the node's object on the old server.  moved: a step of the way
 * back may have moved its ctime. */
bool displace_is_known(const struct node *node, const struct stat *st, bool moved);
/* Lists that somebody else changed the node's object on the old server: a conflict, in later runs,
 * too.  Returns -ECANCELED. */
int displace_conflict(struct tree *tree, struct node *node, GError **error);

/* Renames the node's new version, or a new link to it, from `from` in TARGET_STAGE to `to`, where
 * the object of `over` stands, which is no directory.  `over` is the node itself, whose former
 * version displace_former() removes later, or another node, which gives way. */
int displace_replace(struct tree *tree, struct node *node, const char *from, const char *to,
		     struct node *over, GError **error);
/* Call it when the new version is durable: removes the former version, or puts it back into its
 * place if somebody else changed it.  FALSE: it is still there, and the node is left for the next
 * run, which removes it, if the ledger keeps what it notes of the node. */
bool displace_former(struct tree *tree, struct node *node, GError **error);
/* Removes one name of an object that keeps another one. */
int displace_drop(struct tree *tree, struct node *node, const char *path, GError **error);
/* Removes the object from the first of its places (node->at). */
int displace_remove(struct tree *tree, struct node *node, GError **error);
/* TARGET_STAGE has, under the name of a new version, an object (st) that is none: renames it to a
 * STAGE_DROPPED, which stays until it is known to be one that was to go.  *aside (aside may be
 * NULL): its new name; g_free. */
int displace_aside(struct tree *tree, const char *name, const struct stat *st, char **aside);
/* Deals with what an earlier run left under that name (st) in TARGET_STAGE.  TRUE: a former version
 * is removed, or is a conflict; an object that had come out of its place is set aside; or *error is
 * set.  FALSE: it is something else, and stays as it is. */
bool displace_clean(struct tree *tree, const char *name, const struct stat *st, GError **error);

#endif
