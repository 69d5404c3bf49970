/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a survey that is under way is on the disk, so that it can be gone on with. */
#ifndef CTL_CHECK_CHECKPOINT_H
#define CTL_CHECK_CHECKPOINT_H

#include "ctl/check/survey.h"
#include "ctl/check/walk.h"

#define CHECKPOINT_SUFFIX ".check"

struct checkpoint {
	char *path; /* of the directory */
	int dir_fd; /* locked */
};

/* Makes the directory, for this process alone.  FALSE with error set. */
gboolean checkpoint_open(struct checkpoint *checkpoint, const char *output, const char *name,
			 GError **error);
/* The directory stays. */
void checkpoint_close(struct checkpoint *checkpoint);
/* What is in it goes: the next run begins anew. */
void checkpoint_forget(struct checkpoint *checkpoint);
/* It goes, with all that is in it. */
void checkpoint_remove(struct checkpoint *checkpoint);

/* While nothing is under way.  Durable. */
gboolean checkpoint_save(struct checkpoint *checkpoint, struct walk *walk,
			 const struct survey *survey, GError **error);
/* TRUE: gone on with a survey of the same source and share.  FALSE: none is there, or, with error
 * set, it is damaged. */
gboolean checkpoint_load(struct checkpoint *checkpoint, struct walk *walk, struct survey *survey,
			 GError **error);

#endif
