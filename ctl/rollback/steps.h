/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of carry.h, each of one object.  What fails with an object is listed, and the rest goes
 * on; what fails for all sets *carry->error.  true: it was done. */
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
/* Moves it to TARGET_STAGE. */
bool steps_park(struct carry *carry, struct node *node);
/* What comes of one object that is made anew in TARGET_STAGE, with all it has. */
struct making {
	const struct node *node;
	bool new_one; /* and none that was there */
	int ret;
	struct stat there; /* when it is done */
	uint64_t bytes;
	off_t size;	   /* of what was given */
	GPtrArray *losses; /* of sentences; NULL: none */
	GHashTable *given; /* attributes, for ledger_add_given(); NULL: none */
};
/* In any thread (parallel.h).  making->node is set, all else zero. */
void steps_make(const struct carry *carry, struct making *making);
/* Takes what came of it: node->carried.staged. */
bool steps_made(struct carry *carry, struct node *node, struct making *making);
/* Both. */
bool steps_stage(struct carry *carry, struct node *node);
/* What is in TARGET_STAGE comes to its place, further names are linked, others go. */
bool steps_place(struct carry *carry, struct node *node);
/* attrs_remember() of what is to be given something in place, and the mtime that it is given. */
bool steps_remember(struct carry *carry, struct node *node);
/* Data, where it is to be written in place, and attributes. */
bool steps_give(struct carry *carry, struct node *node);
bool steps_remove(struct carry *carry, struct node *node);
/* Of a directory. */
bool steps_give_times(struct carry *carry, struct node *node);

#endif
