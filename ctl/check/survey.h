/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A survey of an old server's tree, before anything is moved: what was found, and what it means. */
#ifndef CTL_CHECK_SURVEY_H
#define CTL_CHECK_SURVEY_H

#include "ctl/check/notices.h"
#include "ctl/check/measure.h"
#include "ctl/check/read_trials.h"
#include "ctl/check/tally.h"
#include "ctl/check/new_fs.h"

enum survey_verdict { SURVEY_GO, SURVEY_LOSSES, SURVEY_STOP };

struct survey {
	char *name;   /* the volume's, or the source's URL */
	char *source; /* its URL */
	char *version;
	int64_t made; /* s since 1970 */
	struct tally tally;
	struct notices *notices;
	struct read_trials *trials;
	struct new_fs target;
	struct need need;
	struct measured measured;
	struct estimate estimate;
	uint64_t requests; /* that were sent to the old server */
	double seconds;	   /* that the pass took, over all its runs */
	unsigned runs;
	unsigned share;	   /* of WALK_ALL objects, how many were asked for ACL and attributes */
	char *not_carried; /* what is not brought of any object, lines of text; NULL: nothing */
	char *brings; /* what another version of the protocol would bring besides; NULL: nothing */
};

/* Objects a second of the pass. */
double survey_rate(const struct survey *survey);

/* What keeps the migration from being begun: lines of text; empty: nothing.  g_ptr_array_unref. */
GPtrArray *survey_stops(const struct survey *survey);
enum survey_verdict survey_verdict(const struct survey *survey);
/* "go", "losses", "stop". */
const char *survey_verdict_key(enum survey_verdict verdict);
/* One line for people.  g_free. */
char *survey_verdict_text(const struct survey *survey);

/* Facts that all three forms of a survey show: one line each.  g_free. */
char *survey_space_text(const struct survey *survey);
char *survey_inodes_text(const struct survey *survey);
char *survey_stubs_text(const struct survey *survey);
char *survey_round_trip_text(const struct survey *survey);
char *survey_rights_text(const struct survey *survey);
char *survey_clock_text(const struct survey *survey);
/* "3 h 20 min"; "cannot be told" for 0. */
char *survey_time_text(double seconds);
char *survey_bytes_text(double bytes);

#endif
