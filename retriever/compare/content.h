/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the bytes of one file here with those on the old server.
 *
 * Windows of 1 MiB are read ahead on both sides at the same time, from the old server by its
 * backend and here by a thread of `disk`, while the window before is compared and hashed: one
 * thread that reads and hashes in turn would leave the disk idle while it hashes.  Reads here go to
 * the disk, not to the page cache (O_DIRECT).  If the file system refuses that, the file's pages
 * are first written back and dropped from the cache.
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

/* Reads the whole file on both sides.  0, also where they differ; -errno of one side:
 * content->there and ->here tell which.  Takes up to 8 MiB of memory.  Not on a thread of disk. */
int content_compare(struct content *content);

#endif
