/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files the old server lets this machine read.  What decides is a file's owner, group, mode
 * and ACL, and nothing else that is known here: so one file of each such kind is read from, and
 * what came of it counts for the others.  Any thread.
 */
#ifndef CTL_CHECK_READABLE_H
#define CTL_CHECK_READABLE_H

#include "ctl/check/notices.h"
#include "lib/source/source.h"

#define READABLE_KINDS 65536 /* that are told apart; files of others are counted and not tried */

struct readable;

struct readable *readable_new(struct notices *notices);
void readable_free(struct readable *readable);

/* Whether the file is to be read from, and readable_answer() called.  xattrs: NULL where they are
 * not known. */
bool readable_ask(struct readable *readable, const char *path, const struct source_attr *attr,
		  const struct source_xattrs *xattrs, uint64_t *kind);
/* status: as of BACKEND_READ; -ECANCELED: the next file of the kind is to be read from. */
void readable_answer(struct readable *readable, uint64_t kind, const char *path, int status);

/* Files of kinds that were not tried. */
uint64_t readable_untried(const struct readable *readable);
/* Kinds that were. */
uint64_t readable_kinds(const struct readable *readable);

void readable_save(struct readable *readable, GKeyFile *state);
bool readable_load(struct readable *readable, GKeyFile *state);

#endif
