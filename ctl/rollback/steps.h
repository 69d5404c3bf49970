/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of carry.h, each for one object.  A failure of one object is listed, and the others go
 * on; a failure that concerns all sets *carry->error.  true: the step was done. */
#ifndef CTL_ROLLBACK_STEPS_H
#define CTL_ROLLBACK_STEPS_H

#include "ctl/rollback/tree.h"

struct content;

struct carry_result {
	uint64_t made, changed, renamed, removed, bytes; /* that were carried */
	uint64_t left; /* objects that are for the next run, besides conflicts */
};

struct carry {
	struct tree *tree;
	struct content *content;
	const bool *stop;
	struct carry_result *result;
	GError **error;
};

/* Brings the data of a file. */
bool steps_fetch(struct carry *carry, struct node *node);
/* Moves the object to TARGET_STAGE. */
bool steps_park(struct carry *carry, struct node *node);
/* One object that is made anew in TARGET_STAGE, with all that it has: the result. */
struct making {
	const struct node *node;
	bool new_one; /* the object is made anew; else it was there */
	int ret;
	struct stat there; /* the object on the old server, when it is done */
	uint64_t bytes;
	off_t size;	   /* of the file here whose data were given */
	GPtrArray *losses; /* of sentences; NULL: none */
	GHashTable *given; /* attributes, for ledger_add_given(); NULL: none */
};
/* In any thread (parallel.h).  making->node is set, all else zero. */
void steps_make(const struct carry *carry, struct making *making);
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
