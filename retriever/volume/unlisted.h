/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in an unfilled directory and was not listed: a client asked for it by a name that the old
 * server answers, and does not list (a directory of snapshots, another spelling).
 */
#ifndef UNLISTED_H
#define UNLISTED_H

#include "retriever.h"

enum { UNLISTED_STAYS = 1 };

/* Why, for the report: the listing does not have the name, or has another object by it. */
#define UNLISTED_NAME  "the old server answers to this name and does not list it"
#define UNLISTED_OTHER "the old server lists another object by this name than it answered with"

/*
 * Takes the name out of the directory, whose path is that below the source's root: a stub goes, and
 * what is whole, or a directory, goes aside (aside.h).  What a client has changed stays (I7).
 * Either is in the report.  Blocks for the disk.  0, UNLISTED_STAYS or -errno.
 */
int unlisted_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path,
		       const char *why);

#endif
