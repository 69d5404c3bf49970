/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a survey: from opening the source to its results. */
#ifndef CTL_CHECK_SURVEY_RUN_H
#define CTL_CHECK_SURVEY_RUN_H

#include <stdatomic.h>

#include "ctl/check/checkpoint.h"
#include "ctl/check/survey.h"
#include "lib/config/volume_config.h"

struct survey_progress {
	uint64_t objects, bytes; /* so far */
	uint64_t pending;	 /* directories that are known of and not listed yet */
	double seconds;		 /* of the pass */
	bool measuring;		 /* the pass is through */
	bool resumed;		 /* it goes on with an earlier one */
};

struct survey_options {
	const struct volume_config *config; /* root NULL: no new file system is known */
	const char *target;		    /* a directory of it, or NULL */
	unsigned workers;		    /* directories at a time */
	uint64_t bandwidth;		    /* of reads, bytes a second; 0: no limit */
	uint64_t requests;		    /* a second; 0: no limit */
	unsigned share;			    /* of WALK_ALL */
	const atomic_int *stop; /* a signal may set it; when it is not 0, the survey ends soon */
	/* called some times a second on the main thread; or NULL */
	void (*progress)(void *arg, const struct survey_progress *progress);
	void *arg;
};

/*
 * Goes on with the survey that checkpoint has, or begins a new one.  Runs the main context.  TRUE:
 * survey is whole.  FALSE with error set: one line; ECANCELED (of ERRNO_ERROR): it was stopped.
 * survey is all zeros before, and survey_clear() clears it, whatever was returned.
 */
gboolean survey_run(const struct survey_options *options, struct checkpoint *checkpoint,
		    struct survey *survey, GError **error);
/* What an option of the source would bring: what not_carried says without the option and does not
 * say with it, in a line; NULL: nothing.  g_free. */
char *survey_brings(const char *without, const char *with);
void survey_clear(struct survey *survey);

#endif
