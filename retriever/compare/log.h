/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of a comparison that is under way (PROOF_ENTRIES of lib/report/manifest/finding.h): its
 * entries, and the state that must outlive a kill.
 *
 * The results of one directory are appended as one block: its entries and findings, and the lines
 *
 *   #dir PATH SIDE STATUS  for each directory in it, which is compared later.  SIDE is "both"; or
 *                       the directory is on one side only, "here" or "there", and everything in it
 *                       has STATUS
 *   #object OBJECT INODE  for each name of a file that has several names on the old server
 *   #done NUMBER COUNTS at the end of the block: the directory was the NUMBERth of all #dir lines
 *
 * So the file is also the queue of directories: there is no table of them, and memory grows by only
 * one bit for each directory.  A kill may leave a block without its #done line: the block is cut
 * off, and that directory is compared again.  A power cut may lose more, up to everything that was
 * not synced.
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

/* The results of a directory so far.  One thread at a time. */
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

/* Opens the file name in dir_fd: begins it anew, or goes on with it (then *counts are the sums of
 * its blocks).  NULL with *status -errno.  Reads the whole file. */
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
 * Takes the next directory.  1; 0: there are no more; -ECANCELED after proof_log_stop(); -errno:
 * the file cannot be read.  Waits while other threads may still find directories.  The caller ends
 * the task with proof_log_append() or proof_log_drop().
 */
int proof_log_take(struct proof_log *log, struct proof_task *task);
/* The task is done: appends its block.  0, or -errno: nothing is appended. */
int proof_log_append(struct proof_log *log, const struct proof_task *task,
		     struct proof_block *block);
/* The task was not done. */
void proof_log_drop(struct proof_log *log);
void proof_log_stop(struct proof_log *log);
/* Makes everything in the file durable.  0 or -errno. */
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
