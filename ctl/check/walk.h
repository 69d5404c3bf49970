/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pass over the source of a survey: several directories are listed at a time, and of each entry
 * it is asked what the listing does not say and the retriever would ask.
 *
 * A directory's entries are counted as they come.  So the counts are those of whole directories
 * only while no directory is under way: walk_hold() waits for that.
 */
#ifndef CTL_CHECK_WALK_H
#define CTL_CHECK_WALK_H

#include "ctl/check/judge.h"
#include "ctl/check/frontier.h"
#include "ctl/check/read_trials.h"
#include "ctl/check/samples.h"
#include "ctl/check/tally.h"
#include "lib/source/gate.h"

struct walk {
	/* given, and the caller's */
	struct gate *gate;
	struct judge *judge;
	struct samples *samples;
	struct read_trials *trials;
	struct notices *notices;
	struct frontier *frontier;
	struct tally *tally;
	unsigned carries; /* what the backend carries */
	bool handles;	  /* its objects have handles */
	unsigned workers; /* directories at a time */
	unsigned share;	  /* of WALK_ALL objects, how many are asked for ACL and attributes */
	void (*list)(struct walk *walk, const struct directory *directory); /* one_directory.h */

	/* its own */
	GMutex lock; /* tally, frontier and what follows; under it only the frontier's files */
	GCond changed;
	GThread **threads;
	unsigned active; /* directories under way */
	bool hold, stop;
	bool spoiled;  /* the counts are not those of whole directories any more */
	GError *error; /* of the disk */
};

#define WALK_ALL 100000

/* Adds root to the frontier; *attr is counted. */
void walk_add_root(struct walk *walk, const struct source_object *root,
		   const struct source_attr *attr);
void walk_start(struct walk *walk);
/* Lets no directory be begun until walk_go_on(), and waits until `until` (monotonic).  TRUE: none
 * is under way, and the counts stand still. */
bool walk_hold(struct walk *walk, gint64 until);
void walk_go_on(struct walk *walk);
/* Waits for the end, until `until`.  TRUE: everything was walked, or it failed: error. */
bool walk_wait(struct walk *walk, gint64 until);
/* Lets no directory be begun any more, and gives up those under way, which are not to be
 * counted. */
void walk_stop(struct walk *walk);
/* Joins the threads: after walk_wait(), or after walk_stop() and the gate's and backend's close. */
void walk_end(struct walk *walk);
/* For progress: objects, and directories that wait. */
void walk_now(struct walk *walk, uint64_t *objects, uint64_t *bytes, uint64_t *pending);

#endif
