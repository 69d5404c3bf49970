/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a survey that is under way is on the disk, so that it can be gone on with. */
#ifndef CTL_CHECK_KEPT_H
#define CTL_CHECK_KEPT_H

#include "ctl/check/survey.h"
#include "ctl/check/walk.h"

#define KEPT_SUFFIX ".check"

struct kept {
	char *path; /* of the directory */
	int dir_fd; /* locked */
};

/* Makes the directory, for this process alone.  FALSE with error set. */
gboolean kept_open(struct kept *kept, const char *output, const char *name, GError **error);
/* The directory stays. */
void kept_close(struct kept *kept);
/* What is in it goes: the next run begins anew. */
void kept_forget(struct kept *kept);
/* It goes, with all that is in it. */
void kept_remove(struct kept *kept);

/* While nothing is under way.  Durable. */
gboolean kept_save(struct kept *kept, struct walk *walk, const struct survey *survey,
		   GError **error);
/* TRUE: gone on with a survey of the same source and share.  FALSE: none is there, or, with error
 * set, it is damaged. */
gboolean kept_load(struct kept *kept, struct walk *walk, struct survey *survey, GError **error);

#endif
