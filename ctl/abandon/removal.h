/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Empties the root of a volume whose retriever does not run, and cannot start meanwhile.
 *
 * .migrate/ is removed when everything else has gone, and the root's record after it.  As long as
 * one of them is there, the volume counts as attached: after a kill the next run says so, and goes
 * on; nobody takes what is left for a whole tree, or attaches there.  An unfinished object that a
 * killed run has left still bears its record, because a record is removed only with its object.
 *
 * Neither a symbolic link nor a mount is followed, nor a subvolume of a btrfs entered: a directory
 * on which something is mounted stays, and so do a subvolume and the directories above.
 */
#ifndef CTL_ABANDON_REMOVAL_H
#define CTL_ABANDON_REMOVAL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The names in the root that --keep gives to parts of .migrate/ that are not in the tree. */
#define REMOVAL_KEPT_PRIOR "quickmigrate-prior"
#define REMOVAL_KEPT_ASIDE "quickmigrate-aside"

struct removal {
	bool attached;	/* FALSE: there is nothing, or a copy that clients were not switched to */
	bool adopted;	/* there was a tree before, which another tool had copied */
	uint64_t whole; /* files without a record that are not empty */
	uint64_t whole_bytes; /* their sizes */
	uint64_t unfinished;  /* objects with a record that are no directories */
	uint64_t aside;	      /* objects set aside, by a copy too, that are no directories */
	uint64_t mounts;      /* places below the root where something is mounted, and subvolumes */
	char *first_mount;    /* path of one of them, below the root, or NULL */
	bool begun;	      /* an earlier run has begun to remove it, and did not end */
	uint64_t made;	      /* then: files without a record that were made or written since */
	GPtrArray *first_made; /* paths of the first of them; or NULL */
};

#define REMOVAL_SHOWN 20 /* of first_made */
/* Looks at the whole root; keeps nothing open.  0 or -errno: not all could be looked at. */
int removal_look(int root_fd, struct removal *found);
/*
 * Empties the root, or with keep removes only what is known to be unfinished; then the root has the
 * names that
 * --keep gives (above).  Called again after a kill it goes on.  Blocks for the disk.  0; -EBUSY: a
 * retriever runs; -errno, and *failed (g_free) is the path below the root of the first object that
 * could not be removed: then the volume is still attached.
 */
int removal_run(int root_fd, bool keep, char **failed);
void removal_clear(struct removal *found);

#endif
