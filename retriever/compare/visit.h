/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One directory on both sides: all its names, and what has them. */
#ifndef RETRIEVER_COMPARE_VISIT_H
#define RETRIEVER_COMPARE_VISIT_H

#include "retriever/compare/compare.h"
#include "retriever/compare/log.h"

/* How many files of a hundred thousand are compared with their bytes, and which. */
#define VISIT_ALL 100000

struct visits {
	struct compare compare;
	GThreadPool *files;  /* of struct visit_file */
	GHashTable *skipped; /* paths below the root: of names that the administrator gave up */
	unsigned sample;
	guint64 seed;
	int dir_fd; /* where blocks may spill to */
	/* called with what was found of each object, as it goes; any thread */
	void (*counted)(void *arg, const struct compared *compared);
	void *arg;
};

/* The pool's, of user: struct visits. */
void visit_run_file(gpointer file, gpointer visits);

/*
 * Compares what is in the directory, and puts it into the block.  Waits for the old server and the
 * disk, and for the pool.  0, also where it could not be listed (a finding says so); -ECANCELED:
 * nothing of it counts.
 *
 * Sampling is systematic in each directory: every 100000/sample-th file in the order of its listing
 * from a place on that the seed and the path say.  So each directory has its share, to within one
 * file, and the same seed has the same files as long as the old server lists them in one order.
 */
int visit_directory(struct visits *visits, const struct proof_task *task,
		    struct proof_block *block);

#endif
