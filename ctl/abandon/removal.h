/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A volume's root is emptied, whose retriever does not run and cannot start meanwhile.
 *
 * .migrate/, and then the root's record, go when all else has gone.  As long as one of them is
 * there the volume counts as attached: whoever was killed in between is told so by the next run,
 * which goes on; and nobody takes what is left for a whole tree, or attaches there.  What a killed
 * run has left unfinished still bears its record, because an object goes with it.
 *
 * Neither a symbolic link nor a mount is followed: a directory on which something is mounted stays,
 * and those above it.
 */
#ifndef CTL_ABANDON_REMOVAL_H
#define CTL_ABANDON_REMOVAL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What --keep calls that of .migrate/ which is not in the tree. */
#define REMOVAL_KEPT_PRIOR "quickmigrate-prior"
#define REMOVAL_KEPT_ASIDE "quickmigrate-aside"

struct removal {
	bool attached;	      /* else there is nothing, or a copy that nobody was switched to */
	bool adopted;	      /* there was a tree before, which another tool had copied */
	uint64_t whole;	      /* files without a record that are not empty */
	uint64_t whole_bytes; /* their sizes */
	uint64_t unfinished;  /* what is no directory and has a record */
	uint64_t aside;	      /* what is none, in .migrate/aside */
	uint64_t mounts;   /* directories and files below the root on which something is mounted */
	bool begun;	   /* a run of before has begun to remove it, and did not end */
	char *first_mount; /* of one, below the root, or NULL */
};

/* Looks at all of it; keeps nothing open.  0 or -errno: not all could be looked at. */
int removal_look(int root_fd, struct removal *found);
/*
 * Removes all of it, or with keep what is unfinished alone; then what --keep names above is in the
 * root.  Done again after a kill it goes on.  Blocks for the disk.  0; -EBUSY: a retriever runs;
 * -errno, and *failed (g_free) is the path below the root of the first that could not be removed:
 * then the volume is still attached.
 */
int removal_run(int root_fd, bool keep, char **failed);
void removal_clear(struct removal *found);

#endif
