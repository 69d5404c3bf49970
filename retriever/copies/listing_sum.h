/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells, from sums, which entries of a directory of a copy are listed as they were in the last
 * listing and need not be compared.
 *
 * When all entries of a listing are here, the directory keeps the listing's sum, over everything
 * that tells one version of an object from another, as the extended attribute
 * security.migrate.listed; the entries that were summed up are kept too, one by one
 * (listing_entries.h).  The attribute also says whether all files were whole.  In the next listing
 * a file that is listed as before is passed over, and not even opened; each other file is compared,
 * and if there is no other the directory is unchanged.  Directories, and objects with several
 * names, are always looked at.
 *
 * Where only the sum was kept (few entries or very many, several names, a file that was not whole),
 * the listing is summed up first.  If the sum is the same, nothing is compared; if it is another,
 * the directory is listed again, entry by entry.
 *
 * The attribute is removed before the first change, and the kept entries count only together with
 * it.  An unsettled object (copy_mark.h) counts with a number that no other listing has.  A
 * directory counts with its name and number only, because it is listed itself.  The switch compares
 * each object again, so a sum that is the same by chance leaves an old version in a copy, but never
 * in the served tree.
 *
 * Names that are not listed any more are found as in every directory (name_diff.h).  Kept entries
 * take up to 16 bytes a name in memory.
 */
#ifndef RETRIEVER_COPIES_LISTING_SUM_H
#define RETRIEVER_COPIES_LISTING_SUM_H

#include "retriever/objects/retriever.h"

struct listing_sum;

/* The hash of a name. */
uint64_t listing_sum_hash(const char *name);
/* Mixes a number, so that sums of such numbers are alike only by chance. */
uint64_t listing_sum_mix(uint64_t number);

struct listing_sum *listing_sum_new(struct retriever *retriever, int dir_fd);
void listing_sum_free(struct listing_sum *seen);
/* Whether this listing is only summed up: then nothing but directories is to be compared. */
bool listing_sum_sums_up(const struct listing_sum *seen);
/*
 * Before a page is made: takes out the entries that are listed as before, and counts them.  last:
 * the listing is over.  Blocks for the disk.  Any thread, one page after the other.
 */
void listing_sum_pass(struct listing_sum *seen, int dir_fd, struct backend_batch *batch, bool last);
/* Adds the entries of a page that are made.  Any thread. */
void listing_sum_add(struct listing_sum *seen, const struct backend_batch *batch);
/* Called when another listing of the directory is under way at the same time: a file that this
 * listing passes over may be found changed by the other.  So all files are looked at for missing
 * data afterwards.  Any thread. */
void listing_sum_share(struct listing_sum *seen);
/* The listing begins anew. */
void listing_sum_reset(struct listing_sum *seen);
/* At the end of a listing: whether the directory is unchanged, so that listing_sum_sweep() is not
 * needed.  If it is not, and the listing was only summed up, the directory has to be listed again,
 * entry by entry. */
bool listing_sum_unchanged(struct listing_sum *seen, int dir_fd);
/* How many entries were not compared, without directories and objects with several names. */
guint64 listing_sum_files(const struct listing_sum *seen);

/*
 * Called when all names of the directory are up to date: sets the unlisted names aside, and keeps
 * the sum.  path: below the source's root.  0 or -errno; -ENOTEMPTY as of prior_check().  Blocks
 * for the disk.
 */
int listing_sum_sweep(struct retriever *retriever, struct listing_sum *seen,
		      const GPtrArray *unlisted, int dir_fd, const char *path);

/*
 * Notes that the directory and everything in it are whole: if no file in it has several names, its
 * files need not be looked at until the directory is listed differently.  If the note cannot be
 * stored, the files are only looked at once more.
 */
void listing_sum_set_whole(int dir_fd);
/* The number of entries of a directory that has this note; negative: it has no such note. */
gint64 listing_sum_whole(int dir_fd);
/*
 * The files that may not be whole in a directory of a copy all of whose names are here, for
 * listing_sum_may_lack().  NULL: any file may not be whole.  g_array_unref().  Blocks for the disk.
 */
GArray *listing_sum_not_whole(const struct retriever *retriever, int dir_fd);
bool listing_sum_may_lack(const GArray *not_whole, const char *name);

/* Takes a name that is about to be removed out of the counters, as far as one look at it can tell.
 */
void listing_sum_uncount(struct retriever *retriever, int dir_fd, const char *name);

#endif
