/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One listing of a directory of a copy, beside what the copy has.
 *
 * When all of a listing is here, the directory keeps the sum of it, over what tells one version of
 * an object from another, as the extended attribute security.migrate.listed.  The next listing is
 * summed up first, and only directories and what has several names are looked at: with the same sum
 * nothing else has changed, and no other file is touched: none is even opened, where all of them
 * were whole when the run before was done with the directory, which the attribute says too.  With
 * another sum the directory is listed again, entry by entry.  The attribute is gone before the
 * first of these changes.  Directories count with name and number only: each is listed itself.  The
 * switch compares each object again, so a sum that is the same by chance leaves an old version in a
 * copy, and never in what is served.
 *
 * Then the names are kept, as hashes of 64 bits, to find those that are not listed any more: two
 * names of one hash leave a name where it is for one run too many.  8 bytes a name.
 */
#ifndef SEEN_H
#define SEEN_H

#include "retriever.h"

struct seen;

struct seen *seen_new(int dir_fd);
void seen_free(struct seen *seen);
/* Whether this listing is only summed up: then nothing but directories is to be compared. */
bool seen_sums_up(const struct seen *seen);
/* Any thread. */
void seen_add(struct seen *seen, const struct backend_batch *batch);
/* The listing begins anew. */
void seen_reset(struct seen *seen);
/* At the end of a listing that was summed up: whether all is as it was.  If not, it is to be listed
 * again, entry by entry. */
bool seen_unchanged(struct seen *seen, int dir_fd);
/* Entries that nobody has compared: neither directories nor what has several names. */
guint64 seen_files(const struct seen *seen);

/*
 * All names of the directory are brought up to date: those that were not seen go aside, and the sum
 * is kept.  path: below the source's root.  0 or -errno; -ENOTEMPTY as of prior_check().  Blocks
 * for the disk.
 */
int seen_sweep(struct retriever *retriever, struct seen *seen, int dir_fd, const char *path);

/*
 * The directory and all in it are whole: where no file in it has several names, none of them need
 * be looked at before the sum is another one.  What cannot be stored is only looked at once more.
 */
void seen_set_whole(int dir_fd);
/* Whether that is so: the sum is the one of then. */
bool seen_is_whole(int dir_fd);

/* Takes what goes out of the counts, as well as one look can. */
void seen_uncount(struct retriever *retriever, int dir_fd, const char *name);

#endif
