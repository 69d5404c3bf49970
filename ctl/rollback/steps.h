/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of carry.h, each for one object.  A failure of one object is listed, and the others go
 * on; a failure that concerns all sets *carry->error.  true: the step was done. */
#ifndef CTL_ROLLBACK_STEPS_H
#define CTL_ROLLBACK_STEPS_H

#include "ctl/rollback/steps_make.h"

/* Brings the data of a file. */
bool steps_fetch(struct carry *carry, struct node *node);
/* Moves the object to TARGET_STAGE. */
bool steps_park(struct carry *carry, struct node *node);
/* Takes over the result: node->carried.staged. */
bool steps_made(struct carry *carry, struct node *node, struct making *making);
/* steps_make() and steps_made(). */
bool steps_stage(struct carry *carry, struct node *node);
/* Moves what is in TARGET_STAGE to its place, links further names, and removes others. */
bool steps_place(struct carry *carry, struct node *node);
/* Before an object is changed in place: calls attrs_remember() for it, and notes the mtime that it
 * will be given. */
bool steps_remember(struct carry *carry, struct node *node);
/* Gives data, if the file is written in place, and attributes. */
bool steps_give(struct carry *carry, struct node *node);
bool steps_remove(struct carry *carry, struct node *node);
/* Gives a directory its times. */
bool steps_give_times(struct carry *carry, struct node *node);

#endif
