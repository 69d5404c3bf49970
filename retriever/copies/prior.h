/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prior copy: what was copied before the switch, by us or by another tool, as a tree of its own
 * in .migrate/prior/.
 *
 * The served tree begins empty, as without a copy.  Where a fill would make a stub it looks first
 * for the same object in the prior copy, gives it the attributes that the old server lists, and
 * moves it to its place in one step (RENAME_NOREPLACE).  So an object is either in the prior copy,
 * which no door shows, or compared: a served tree has nothing in it that was not, and "no record"
 * means whole there as ever (I1).  A crash leaves each object in one of the two trees.
 *
 * Where a stub is made all the same, what the prior copy has of that name has had its use: an older
 * version goes, one that is newer or something else goes aside (aside.h).  When a directory's last
 * name is made, what is left of its prior one was not listed, and goes aside too.  A
 * directory is made anew, unless all in it is the same (take_directory.h); a prior one goes when
 * it is empty.
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
	/* By the name to be: one thread takes it.  Another that had looked before would set the
	 * attributes of what clients have by then.  A directory gets its name with it. */
	GMutex locks[PRIOR_LOCKS];
};

/* Of the volume's .migrate/.  *prior NULL where there is no prior copy.  0 or -errno. */
int prior_open(int private_fd, struct prior **prior);
/* Makes prior.conf, before anything comes from the copy.  0 or -errno. */
int prior_save(int private_fd, const struct prior *prior);
void prior_free(struct prior *prior);
/* Of that name in the served tree. */
GMutex *prior_lock(struct prior *prior, const char *name);

/* The prior directory of that path below the root, which nothing leads out of; negative: none. */
int prior_directory(const struct prior *prior, const char *path);

/*
 * What of the prior directory can be taken for the entry: COPY_SAME or COPY_UNFINISHED as it
 * is, COPY_ALIKE when it has the entry's attributes, else nothing.  target: a symbolic link's
 * text.  fd: NULL, or *fd is negative or open for reading; the caller closes it.  -errno.
 */
int prior_compare(struct retriever *retriever, int prior_fd, const struct source_entry *entry,
		  const char *target, int *fd);
/* Moves it there; fd: of it, negative: none.  0, -EEXIST, -errno. */
int prior_take(int prior_fd, const char *name, int fd, int dir_fd, const char *as);

/*
 * Before the entry is made as name `as` in dir_fd, or when it was linked there: what the prior
 * copy, whose directory at path is prior_fd, has of its name goes.  0, -ENOTEMPTY as of
 * prior_check(), -errno.
 */
int prior_settle(struct retriever *retriever, int prior_fd, const char *path,
		 const struct source_entry *entry, int dir_fd, const char *as);

/*
 * Every name of the directory is made: what is left of the prior one is dealt with.  0, -ENOTEMPTY
 * as of prior_check(), -errno.
 */
int prior_sweep(struct retriever *retriever, int dir_fd, const char *path);

/*
 * Whether n names more may go aside: 0, and they are counted as left over; -ENOTEMPTY: that were
 * more than a tenth of all names, and nobody has accepted that.
 */
int prior_check(struct retriever *retriever, gint64 n);
/* So many that it has counted did not go: whoever tries again counts them again. */
void prior_uncount(struct retriever *retriever, gint64 n);
/* How many go with that one, for prior_check(): of a directory all that is below it too.  -errno.
 */
gint64 prior_names(struct retriever *retriever, int dir_fd, const char *name);
/* Why not. */
extern const char prior_too_many[];

#endif
