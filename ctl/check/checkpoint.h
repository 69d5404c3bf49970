/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the state of a survey that is under way on the disk, so that a later run can go on with
 * it. */
#ifndef CTL_CHECK_CHECKPOINT_H
#define CTL_CHECK_CHECKPOINT_H

#include "ctl/check/survey.h"
#include "ctl/check/walk.h"

#define CHECKPOINT_SUFFIX ".check"

struct checkpoint {
	char *path; /* of the directory */
	int dir_fd; /* locked */
};

/* Makes the directory, and locks it for this process alone.  FALSE with error set. */
gboolean checkpoint_open(struct checkpoint *checkpoint, const char *output, const char *name,
			 GError **error);
/* The directory stays. */
void checkpoint_close(struct checkpoint *checkpoint);
/* Removes what is in the directory: the next run begins anew. */
void checkpoint_forget(struct checkpoint *checkpoint);
/* Removes the directory, with all that is in it. */
void checkpoint_remove(struct checkpoint *checkpoint);

/* Saves the state, durably.  Call it while no directory is under way (walk_hold()). */
gboolean checkpoint_save(struct checkpoint *checkpoint, struct walk *walk,
			 const struct survey *survey, GError **error);
/* TRUE: the state of a survey of the same source and share was loaded.  FALSE: none is there, or,
 * with error set, it is damaged. */
gboolean checkpoint_load(struct checkpoint *checkpoint, struct walk *walk, struct survey *survey,
			 GError **error);

#endif
