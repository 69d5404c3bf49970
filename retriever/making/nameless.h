/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A regular file that gets its name last, when all of it is there.  Until then it has none
 * (O_TMPFILE), or, where the file system has no such files (capabilities.h), one in
 * .migrate/staging/, which is emptied at each start.  Nobody but the retriever sees it there.
 */
#ifndef RETRIEVER_MAKING_NAMELESS_H
#define RETRIEVER_MAKING_NAMELESS_H

#include "retriever/objects/retriever.h"

#define NAMELESS_LEN 32

struct nameless {
	int stage_fd;		 /* where it has its name for now, */
	char name[NAMELESS_LEN]; /* and which; "": it has none */
	bool closes;		 /* that is its own */
};

/* Sets name to one in .migrate/staging/ that no other object has. */
void nameless_stage(struct retriever *retriever, char name[NAMELESS_LEN]);
/* Makes one that is to stand in dir_fd, of that directory's project; it may have inherited an ACL.
 * A descriptor, O_RDWR, of the caller, or -errno.  nameless_end() is called in any case. */
int nameless_make(struct nameless *file, struct retriever *retriever, int dir_fd, mode_t mode);
/* fd: its descriptor.  0; -EEXIST: the name is there already, and stays; -errno. */
int nameless_name(struct nameless *file, int fd, int dir_fd, const char *as);
/* What got no name goes, when its descriptor is closed. */
void nameless_end(struct nameless *file);

#endif
