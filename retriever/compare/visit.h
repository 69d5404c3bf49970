/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares one directory on both sides: all its names, and the objects that have them. */
#ifndef RETRIEVER_COMPARE_VISIT_H
#define RETRIEVER_COMPARE_VISIT_H

#include "retriever/compare/compare.h"
#include "retriever/compare/log.h"

/* How many files of a hundred thousand are compared with their bytes, and which. */
#define VISIT_ALL  100000
#define VISIT_RULE GINT_TO_POINTER(1)

struct visits {
	struct compare compare;
	GThreadPool *files; /* of struct visit_file */
	/* paths below the root: of names that the administrator skipped, or that a rule left out;
	 * then the value is VISIT_RULE */
	GHashTable *skipped;
	unsigned sample;
	guint64 seed;
	int dir_fd; /* where blocks may spill to */
	/* called with what was found of each object, as it goes; any thread */
	void (*counted)(void *arg, const struct compared *compared);
	void *arg;
};

/* The function of the pool of files; visits: its struct visits. */
void visit_run_file(gpointer file, gpointer visits);

/*
 * Compares the objects in the directory, and puts the results into the block.  Waits for the old
 * server and the disk, and for the pool.  0, also where the directory could not be listed (a
 * finding says so); -ECANCELED: the results must not be used.
 *
 * Each directory is sampled systematically: every 100000/sample-th file in the order of the
 * listing, from a place on that is computed from the seed and the path.  So each directory has its
 * share of the sample, to within one file, and the same seed chooses the same files as long as the
 * old server lists them in the same order.
 */
int visit_directory(struct visits *visits, const struct proof_task *task,
		    struct proof_block *block);

#endif
