/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of a run (PROOF_ENTRIES of lib/report/manifest/finding.h) while it is under way: the
 * entries, and what of the run must outlive a kill.
 *
 * What was found in one directory is appended as a whole: its entries and findings, a line
 *
 *   #dir PATH SIDE STATUS  for each directory in it, which has its turn later: "both" sides are to
 *                       be compared; or it is on one, "here" or "there", and all of it has STATUS
 *   #object OBJECT INODE  for each name of a file that has several on the old server
 *   #done NUMBER COUNTS at its end: it was the NUMBERth of all #dir lines
 *
 * So the file is the queue too: no table of directories is kept, and memory does not grow with the
 * tree but by one bit a directory.  A kill leaves a piece without its #done, which is cut off; that
 * directory is compared again.  A power cut may cut off more, up to all that was not synced.
 */
#ifndef RETRIEVER_COMPARE_LOG_H
#define RETRIEVER_COMPARE_LOG_H

#include "lib/report/manifest/finding.h"

struct proof_counts {
	guint64 objects, findings, sampled; /* files whose bytes were compared */
	guint64 bytes;			    /* compared */
	guint64 cached;			    /* files that were not read past the cache */
	guint64 status[PROOF_STATUS_COUNT];
};

/* What was found in a directory so far.  One thread at a time. */
struct proof_block {
	int dir_fd;
	GString *text;
	int spilled; /* a file without a name for what was too much for memory, or -1 */
	struct proof_counts counts;
	int status; /* 0 or -errno: the disk did not take it */
};

struct proof_log;

/* Called for each #object of a run that goes on. */
typedef void (*proof_link_fn)(void *arg, guint64 fileid, guint64 inode);

/* name in dir_fd: begun anew, or gone on with (*counts are those of its blocks).  NULL with *status
 * -errno.  Reads all of it. */
struct proof_log *proof_log_open(int dir_fd, const char *name, bool anew,
				 struct proof_counts *counts, proof_link_fn link, void *arg,
				 int *status);
void proof_log_close(struct proof_log *log);

enum proof_side { PROOF_BOTH, PROOF_HERE, PROOF_THERE, PROOF_SIDES };

struct proof_task {
	guint64 number;
	char *path; /* g_free */
	enum proof_side side;
	enum proof_status status; /* of what is on one side */
};

/*
 * The next directory.  1; 0: there are no more; -ECANCELED after proof_log_stop(); -errno: it
 * cannot be read.  Waits while others may still find some.  Whoever took one gives it back with
 * proof_log_append() or proof_log_drop().
 */
int proof_log_take(struct proof_log *log, struct proof_task *task);
/* It is done: appends its block.  0, or -errno: nothing is appended. */
int proof_log_append(struct proof_log *log, const struct proof_task *task,
		     struct proof_block *block);
/* It was not done. */
void proof_log_drop(struct proof_log *log);
void proof_log_stop(struct proof_log *log);
/* All is durable after.  0 or -errno. */
int proof_log_sync(struct proof_log *log);

void proof_block_init(struct proof_block *block, int dir_fd);
void proof_block_clear(struct proof_block *block);
void proof_block_entry(struct proof_block *block, const struct proof_entry *entry);
void proof_block_finding(struct proof_block *block, const struct proof_finding *finding);
void proof_block_directory(struct proof_block *block, const char *path, enum proof_side side,
			   enum proof_status status);
void proof_block_link(struct proof_block *block, guint64 fileid, guint64 inode);

void proof_counts_add(struct proof_counts *sum, const struct proof_counts *counts);

#endif
