/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks a final report: whether its signature, its parts, its manifest and a tree are as they were
 * when it was made; and whether it says that the volume is complete.  This needs no migration, no
 * configuration and no rights, and believes nothing that it reads.
 */
#ifndef CTL_REPORT_CHECK_H
#define CTL_REPORT_CHECK_H

#include <glib.h>
#include <stdbool.h>

/* Takes one line: what is in order (good), or what is not. */
typedef void (*check_fn)(void *arg, bool good, const char *line);

struct check {
	const char *file;    /* the JSON; its parts and its signature are beside it */
	const char *signers; /* allowed signers (ssh-keygen(1)), or NULL: any key */
	const char *tree;    /* to be compared with the manifest, or NULL */
	const char *scratch; /* a directory for the temporary files of that comparison */
	check_fn fn;
	void *arg;
};

/* Calls fn for each thing that was looked at.  Whether all was in order, and complete. */
bool check_report(const struct check *check);

#endif
