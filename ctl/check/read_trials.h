/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds out which files the old server lets this machine read.  That depends on a file's owner,
 * group, mode and ACL, and on nothing else that is known here: so one file of each such kind is
 * read from, and the result counts for the others.  Any thread.
 */
#ifndef CTL_CHECK_READ_TRIALS_H
#define CTL_CHECK_READ_TRIALS_H

#include "ctl/check/notices.h"
#include "lib/source/source.h"

#define READABLE_KINDS 65536 /* that are told apart; files of others are counted and not tried */

struct read_trials;

struct read_trials *read_trials_new(struct notices *notices);
void read_trials_free(struct read_trials *trials);

/* Whether the file is to be read from, and read_trials_answer() called.  xattrs: NULL where they
 * are not known. */
bool read_trials_ask(struct read_trials *trials, const char *path, const struct source_attr *attr,
		     const struct source_xattrs *xattrs, uint64_t *kind);
/* status: as of BACKEND_READ; -ECANCELED: the next file of the kind is to be read from. */
void read_trials_answer(struct read_trials *trials, uint64_t kind, const char *path, int status);

/* Files of kinds that were not tried. */
uint64_t read_trials_untried(const struct read_trials *trials);
/* Kinds that were tried. */
uint64_t read_trials_kinds(const struct read_trials *trials);

void read_trials_save(struct read_trials *trials, GKeyFile *state);
bool read_trials_load(struct read_trials *trials, GKeyFile *state);

#endif
