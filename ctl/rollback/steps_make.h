/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object made anew in TARGET_STAGE, and what an object is given.  In any thread (parallel.h). */
#ifndef CTL_ROLLBACK_STEPS_MAKE_H
#define CTL_ROLLBACK_STEPS_MAKE_H

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
/*
 * Gives data and attributes of one moment.  The retriever knows the file of a stub by its ctime, as
 * long as clients write to the stub, and by its mtime: -EAGAIN if either would move before the stub
 * is whole.
 */
int steps_give_content(const struct carry *carry, struct making *making, struct target_file *to,
		       bool data);
/* making->node is set, all else zero. */
void steps_make(const struct carry *carry, struct making *making);

#endif
