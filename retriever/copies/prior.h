/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prior copy: the tree that was copied before the switch, by migratectl copy or by another
 * tool, and that stands in .migrate/prior/.
 *
 * The served tree begins empty, as without a copy.  Before a fill makes a stub it looks for the
 * same object in the prior copy, gives that object the attributes that the old server lists, and
 * moves it to its place in one step (RENAME_NOREPLACE).  So each object is either in the prior
 * copy, which no door shows, or was compared: the served tree has no object that was not compared,
 * and "no record" means whole there as always (I1).  A crash leaves each object in one of the two
 * trees.
 *
 * If a stub is made, the prior copy's object of that name is not needed any more: an older version
 * is removed; a newer version, or another object, is set aside (aside.h).  When a directory's last
 * name is made, the names that are left in its prior directory were not listed, and are set aside
 * too.  A directory is made anew, unless everything in it is the same (take_directory.h); a prior
 * directory is removed when it is empty.
 */
#ifndef RETRIEVER_COPIES_PRIOR_H
#define RETRIEVER_COPIES_PRIOR_H

#include "lib/source/source.h"
#include "retriever/objects/retriever.h"

struct stat;

#define PRIOR_DIR   "prior"
#define PRIOR_LOCKS 64

/* How the prior copy is taken, as .migrate/prior.conf says it. */
struct prior {
	int fd;		 /* the copy's root */
	bool adopted;	 /* another tool made it: no marks */
	bool content;	 /* what is alike has its bytes compared */
	bool keep_extra; /* what is left over comes into the tree */
	gint64 names;	 /* about how many there were at the switch; 0: not known */
	/* A lock by the hash of the name to be made, so that only one thread takes the object: a
	 * second thread that has looked before would set the attributes of an object that clients
	 * use by then.  A directory gets its name with this lock held. */
	GMutex locks[PRIOR_LOCKS];
};

/* private_fd: the volume's .migrate/.  *prior is NULL where there is no prior copy.  0 or -errno.
 */
int prior_open(int private_fd, struct prior **prior);
/* Makes prior.conf, before anything comes from the copy.  0 or -errno. */
int prior_save(int private_fd, const struct prior *prior);
void prior_free(struct prior *prior);
/* The lock for that name in the served tree. */
GMutex *prior_lock(struct prior *prior, const char *name);

/* Opens the prior directory of that path below the root; the path cannot lead out of the copy.
 * Negative: there is no such directory. */
int prior_directory(const struct prior *prior, const char *path);

/*
 * Whether the prior directory's object can be taken for the entry: COPY_SAME or COPY_UNFINISHED: as
 * it is; COPY_ALIKE: when it has been given the entry's attributes; any other result: it cannot.
 * target: a symbolic link's text.  fd: NULL, or *fd is negative or open for reading; the caller
 * closes it.  -errno.
 */
int prior_compare(struct retriever *retriever, int prior_fd, const struct source_entry *entry,
		  const char *target, int *fd);
/* Moves name in prior_fd to `as` in dir_fd; fd: the object's, or negative.  0, -EEXIST, -errno. */
int prior_take(int prior_fd, const char *name, int fd, int dir_fd, const char *as);

/*
 * Removes or sets aside the prior copy's object of the entry's name, before the entry is made as
 * `as` in dir_fd, or when it was linked there.  prior_fd: the prior directory at path.  0,
 * -ENOTEMPTY as of prior_check(), -errno.
 */
int prior_settle(struct retriever *retriever, int prior_fd, const char *path,
		 const struct source_entry *entry, int dir_fd, const char *as);

/*
 * Called when every name of the directory is made: deals with the names that are left in the prior
 * directory.  0, -ENOTEMPTY as of prior_check(), -errno.
 */
int prior_sweep(struct retriever *retriever, int dir_fd, const char *path);

/*
 * Whether n more names may be set aside.  0: they may, and are counted as left over; -ENOTEMPTY:
 * more than a tenth of all names would be set aside, and `accept` was not given.
 */
int prior_check(struct retriever *retriever, gint64 n);
/* Takes back n names that prior_check() has counted and that were not set aside: the next attempt
 * counts them again. */
void prior_uncount(struct retriever *retriever, gint64 n);
/* How many names would go with that one, for prior_check(): for a directory also all names below
 * it.  -errno. */
gint64 prior_names(struct retriever *retriever, int dir_fd, const char *name);

#endif
