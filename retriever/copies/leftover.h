/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in an unfilled directory and was not listed: a client asked for it by a name that the old
 * server answers, and does not list (a directory of snapshots, another spelling).
 */
#ifndef RETRIEVER_COPIES_LEFTOVER_H
#define RETRIEVER_COPIES_LEFTOVER_H

#include "retriever/objects/retriever.h"

/*
 * Takes the name out of the directory, whose path is that below the source's root: a stub goes, and
 * what is whole, or a directory, goes aside (aside.h).  What a client has changed stays (I7).
 * Either is in the report.  What has failed stays as well, and is in the list of errors (I12).
 * Blocks for the disk.  0 or -errno.
 */
int leftover_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path);

#endif
