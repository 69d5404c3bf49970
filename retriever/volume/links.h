/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has more than one link is made once, as .migrate/links/FILEID, and linked from there,
 * whichever name is seen first.  How many of its names are made is counted, so that the provisional
 * one goes with the last.
 */
#ifndef LINKS_H
#define LINKS_H

#include "retriever.h"

#define LINK_NAME_LEN 32

struct links *links_new(void);
void links_free(struct links *links);
/* Which names of what has more than one link were made before, from .migrate/linked, and which
 * inodes are whose, from .migrate/claimed. */
void links_load(struct retriever *retriever);

/* Provisional names and counts of a listing that is over.  0 or -errno. */
int links_forget(struct retriever *retriever);
/* The name in .migrate/links/. */
void links_name(char name[LINK_NAME_LEN], uint64_t fileid);
/* A number that names of other objects do not have. */
uint64_t links_fileid(const struct source_attr *attr);
/*
 * What a prior copy has under several names may be the content of one object only: whether the
 * inode is free, or this object's.  It is this object's from then on, also after a crash.
 */
bool links_claim(struct retriever *retriever, uint64_t inode, uint64_t fileid);
/* One more name of it is there.  Blocks for the disk.  Any thread. */
void links_count(struct retriever *retriever, const struct source_attr *attr);

#endif
