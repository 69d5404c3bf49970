/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in an unfilled directory and was not listed: a client asked for it by a name that the old
 * server answers, and does not list (a directory of snapshots, another spelling).
 */
#ifndef RETRIEVER_COPIES_LEFTOVER_H
#define RETRIEVER_COPIES_LEFTOVER_H

#include "retriever/objects/retriever.h"

struct object;

/*
 * Takes the name out of the directory, whose path is that below the source's root: a stub goes, and
 * what is whole, or a directory, goes aside (aside.h).  What a client has changed stays (I7).
 * Either is in the report.  What has failed stays as well, and is in the list of errors (I12).
 * Blocks for the disk.  0 or -errno.
 */
int leftover_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path);

/*
 * Whether a client has asked for the name since this process began, in a directory that has not
 * been filled since (a name may be forgotten where there are very many).  What is neither listed
 * nor asked for was put there by a local program, and is not to be taken back.  Any thread.
 */
bool leftover_was_asked(struct object *directory, const char *name);
void leftover_note_asked(struct object *directory, const char *name);
void leftover_forget_asked(struct object *directory);

#endif
