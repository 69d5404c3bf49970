/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One listing of a directory of a copy, beside what the copy has.
 *
 * When all of a listing is here, the directory keeps the sum of it, over what tells one version of
 * an object from another, as the extended attribute security.migrate.listed, and beside it what
 * was summed up, entry by entry (listing_entries.h).  The attribute says too when all files were
 * whole.  In the next listing a file that is listed as it was then is passed over, and not even
 * opened; what is not is compared, and where there is none the directory is as it was. Directories,
 * and what has several names, are always looked at.
 *
 * Where only the sum is there (few entries or very many, several names, a file that was not whole),
 * the listing is summed up first.  With the same sum nothing is compared; with another one the
 * directory is listed again, entry by entry.
 *
 * The attribute is gone before the first change, and what was listed counts with it only.
 * What is unsettled (copy_mark.h) counts with a number that no other listing has.
 * Directories count with name and number only: each is listed itself.  The switch compares each
 * object again, so a sum that is the same by chance leaves an old version in a copy, and never in
 * what is served.
 *
 * Names that are not listed any more are found as in every directory (name_diff.h).  Where entries
 * are kept they take up to 16 bytes a name in memory.
 */
#ifndef RETRIEVER_COPIES_LISTING_SUM_H
#define RETRIEVER_COPIES_LISTING_SUM_H

#include "retriever/objects/retriever.h"

struct listing_sum;

/* Of a name. */
uint64_t listing_sum_hash(const char *name);
/* So that sums of such numbers are no more alike than the numbers. */
uint64_t listing_sum_mix(uint64_t number);

struct listing_sum *listing_sum_new(struct retriever *retriever, int dir_fd);
void listing_sum_free(struct listing_sum *seen);
/* Whether this listing is only summed up: then nothing but directories is to be compared. */
bool listing_sum_sums_up(const struct listing_sum *seen);
/*
 * Before a page is made: takes out what is as it was, and counts it.  last: the listing is over.
 * Blocks for the disk.  Any thread, one page after the other.
 */
void listing_sum_pass(struct listing_sum *seen, int dir_fd, struct backend_batch *batch, bool last);
/* Of a page, what is made.  Any thread. */
void listing_sum_add(struct listing_sum *seen, const struct backend_batch *batch);
/* There is another listing of the directory at the same time: what this one passes over, that one
 * may find changed.  So all files are looked at for data afterwards.  Any thread. */
void listing_sum_share(struct listing_sum *seen);
/* The listing begins anew. */
void listing_sum_reset(struct listing_sum *seen);
/* At the end of a listing: whether all is as it was, and nothing need be swept.  If not, one that
 * was summed up is to be listed again, entry by entry. */
bool listing_sum_unchanged(struct listing_sum *seen, int dir_fd);
/* Entries that nobody has compared: neither directories nor what has several names. */
guint64 listing_sum_files(const struct listing_sum *seen);

/*
 * All names of the directory are brought up to date: the unlisted ones go aside, and the sum is
 * kept.  path: below the source's root.  0 or -errno; -ENOTEMPTY as of prior_check().  Blocks for
 * the disk.
 */
int listing_sum_sweep(struct retriever *retriever, struct listing_sum *seen,
		      const GPtrArray *unlisted, int dir_fd, const char *path);

/*
 * The directory and all in it are whole: where no file in it has several names, none of them need
 * be looked at before it is listed otherwise.  What cannot be stored is only looked at once more.
 */
void listing_sum_set_whole(int dir_fd);
/* Of how many entries that was said of the directory; negative: of none. */
gint64 listing_sum_whole(int dir_fd);
/*
 * Which files of a directory of a copy, all of whose names are here, may not be whole, for
 * listing_sum_may_lack(): NULL: any.  g_array_unref().  Blocks for the disk.
 */
GArray *listing_sum_not_whole(const struct retriever *retriever, int dir_fd);
bool listing_sum_may_lack(const GArray *not_whole, const char *name);

/* Takes what goes out of the counts, as well as one look can. */
void listing_sum_uncount(struct retriever *retriever, int dir_fd, const char *name);

#endif
