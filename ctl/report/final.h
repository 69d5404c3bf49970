/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The final report of a volume, as JSON, as text and as a page: its counts, and a list for each
 * enum final_kind.  A list may be longer than memory, so its lines are in a temporary file.  The
 * text has all of them; the page and the JSON have the first FINAL_SHOWN of each list.
 */
#ifndef CTL_REPORT_FINAL_H
#define CTL_REPORT_FINAL_H

#include <stdio.h>

#include "lib/report/manifest/manifest.h"

#define FINAL_SHOWN  1000
#define FINAL_ALL    100000
#define FINAL_FORMAT 1 /* of the JSON */

/* The files of a report: the volume's name, and behind it: */
#define FINAL_JSON     "-report.json"
#define FINAL_TEXT     "-report.txt"
#define FINAL_PAGE     "-report.html"
#define FINAL_MANIFEST "-manifest.mtree.zst"

enum final_kind {
	FINAL_DIFFERENT,  /* differs from the old server, or could not be read */
	FINAL_UNFINISHED, /* not here yet */
	FINAL_FAILED,	  /* objects whose last attempt failed */
	FINAL_SKIPPED,
	FINAL_LOST, /* things of objects that could not be carried over; an object may have several
		     */
	FINAL_CLIENTS, /* what clients made, changed and removed */
	FINAL_KINDS
};

struct final_line {
	char *path, *what; /* printable: one line of UTF-8 */
};

/* Anything may be in path and what. */
struct final_line *final_line_new(const char *path, const char *what);
void final_line_free(struct final_line *line);

struct final_list {
	uint64_t total;
	GPtrArray *first; /* of struct final_line */
	FILE *all;	  /* a line for each: path, colon and blank, what */
};

/* Of `verify --content`: how contents were compared. */
struct final_comparison {
	bool any;	       /* a comparison was made; else the rest says nothing */
	int64_t began, ended;  /* s since 1970; ended 0: it is not through */
	unsigned sample;       /* of FINAL_ALL files */
	char *told_by;	       /* how it was known what clients changed: "journal" or "times" */
	uint64_t bytes, files; /* compared */
	uint64_t seed;	       /* of a sample */
	/* of a sample: if `fraction` percent of all files differed, one of them would have been in
	 * the sample with a probability of `confidence` percent */
	double fraction, confidence;
	uint64_t status[PROOF_STATUS_COUNT];
};

struct final_part {
	char *file; /* its name, beside the JSON */
	uint64_t bytes;
	char sha256[PROOF_HASH_HEX + 1];
};

struct history;

struct final {
	char *volume, *root, *source, *server, *version, *state;
	int64_t made; /* s since 1970 */
	struct final_comparison comparison;
	struct manifest_count count;
	uint64_t unlisted;  /* skipped objects of the old tree, which are not in the manifest */
	int64_t names_here; /* in the new tree, when the report was made; -1: not known */
	struct final_list lists[FINAL_KINDS];
	struct history *history; /* or NULL */
	GPtrArray *parts;	 /* of struct final_part */
};

/* directory: for temporary files.  NULL with error set: none can be made. */
struct final *final_new(const char *directory, GError **error);
void final_free(struct final *final);

/* Anything may be in path and what. */
void final_add(struct final *final, enum final_kind kind, const char *path, const char *what);
/* Whether all lines are there (a temporary file may have found no room). */
bool final_lists_whole(struct final *final);
void final_add_part(struct final *final, const char *file, uint64_t bytes, const char *sha256);

/* Objects of the old tree: all but what clients made. */
uint64_t final_old_objects(const struct final *final);
/* What people are told that final_old_objects() is: without a comparison, objects of the old tree
 * and of clients cannot be told apart. */
const char *final_sum_title(const struct final *final);
/* "" if the sums add up, else a line that says which do not.  g_free. */
char *final_sums(const struct final *final);
/* Nothing is unfinished or different, and the sums add up. */
bool final_is_complete(const struct final *final);
/* One line for people: how it stands, and what to do.  g_free. */
char *final_verdict(const struct final *final);
/* One line: whether and how contents were compared.  g_free. */
char *final_contents(const struct final *final);

/* "differences", "unfinished", "failed", "given_up", "lost", "clients". */
const char *final_kind_key(enum final_kind kind);
/* For people. */
const char *final_kind_title(enum final_kind kind);
/* How objects of a status are called, for people. */
const char *final_status_title(enum proof_status status);

#define FINAL_UNLISTED "skipped; the manifest does not have them"

/* "2026-11-23T08:00:00Z"; "-" for 0.  g_free. */
char *final_time(int64_t seconds);

#endif
