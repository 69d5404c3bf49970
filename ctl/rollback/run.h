/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run of the way back: from the journal's snapshot, by plan and carrying, to what is noted of
 * it. */
#ifndef CTL_ROLLBACK_RUN_H
#define CTL_ROLLBACK_RUN_H

#include "ctl/rollback/carry.h"
#include "ctl/rollback/plan.h"

struct rollback_options {
	const char *to;	  /* the old server's tree, mounted; NULL: config->rollback_source */
	bool plan;	  /* nothing is carried */
	bool list;	  /* result->planned is wanted */
	bool scan;	  /* a walk of the tree also finds what was written through mappings */
	bool serving;	  /* clients go on with the new server: renamed stubs become whole first */
	const bool *stop; /* when it becomes true, it ends soon */
};

struct rollback_result {
	struct plan plan;
	struct carry_result done;      /* zeros where it was only planned */
	GPtrArray *conflicts, *losses; /* of struct problem */
	GPtrArray *planned;	       /* of struct problem, or NULL */
	int64_t seen; /* CLOCK_REALTIME, ns: all that was changed here before this was looked at */
};

/* FALSE with error set: one line.  Call rollback_clear() afterwards, whatever was returned. */
bool rollback_run(const struct volume_config *config, const struct rollback_options *options,
		  struct rollback_result *result, GError **error);
/* Call it after the first plan_make(): carries that plan, then plans and carries each window
 * (rows.h).  done NULL: nothing is carried.  FALSE with error set. */
bool rollback_windows(struct tree *tree, struct plan *plan, const bool *stop,
		      struct carry_result *done, GError **error);

void rollback_clear(struct rollback_result *result);

/* The directory, beside the report, of the ledger; g_free. */
char *rollback_directory(const struct volume_config *config);

#endif
