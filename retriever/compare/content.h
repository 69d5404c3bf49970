/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one file on both sides.
 *
 * Windows of 1 MiB are read ahead on both sides at a time, from the old server by its backend and
 * here by a thread of `disk`, while the window before is compared and hashed: one thread that reads
 * and hashes in turn leaves the disk idle for as long as the hash takes.  Here it is the disk that
 * is read, not the page cache (O_DIRECT); where the file system refuses that, what the cache has of
 * the file is written back and dropped before.
 */
#ifndef RETRIEVER_COMPARE_CONTENT_H
#define RETRIEVER_COMPARE_CONTENT_H

#include "lib/report/manifest/hash.h"
#include "retriever/compare/asker.h"

/* Threads that read this side. */
struct disk;
struct disk *disk_new(unsigned threads);
void disk_free(struct disk *disk);

struct content {
	struct asker *asker;
	struct disk *disk;
	const struct source_object *object; /* there */
	uint64_t size;			    /* of both */
	int dir_fd;			    /* here: */
	const char *name;
	gint64 *bytes; /* atomic: counts what was compared, as it goes; NULL: nobody does */
	/* out */
	bool cached;			 /* O_DIRECT was refused */
	uint64_t differ, first;		 /* how many bytes are others, the first of them */
	bool zeros;			 /* and all of these are zeros here */
	bool changed;			 /* it became shorter or longer there meanwhile */
	char sha256[PROOF_HASH_HEX + 1]; /* of this side; "" where it is not known */
	int there, here;		 /* 0 or -errno of each side */
};

/* Reads all of both.  0, also where they differ; -errno of one side, which content->there and
 * ->here tell apart.  Takes up to 8 MiB of memory.  Not on a thread of disk. */
int content_compare(struct content *content);

#endif
