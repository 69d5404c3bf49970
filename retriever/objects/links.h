/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has more than one link is made once, as .migrate/links/NUMBER-OBJECT, and linked from there,
 * whichever name is seen first.  How many of its names are made is counted, so that the provisional
 * one goes with the last.
 *
 * Two names are of one object (I13) only if the old server says so: it has the same number, and
 * OBJECT is the same, which is made of
 *   - its handle, where two handles are two objects (source_attr.object).  Numbers come again in
 *     subvolumes and snapshots, behind one fsid, and in what is merged of several disks;
 *   - else its version: type, size, times, owner, mode, number of links.
 * What has the same handle may have been changed there since the first name was made, or be a new
 * object with the handle of one that was removed.  So what is here must be like it in size and
 * mtime, unless clients changed it here (I7): then the names are one file, whatever is told of the
 * old one, which the way back may have changed.  A file that is not like it stays what it is, and
 * the name that comes becomes a file of its own.
 *
 * So a name may be parted from others that are its file's on the old server: where handles depend
 * on the path, attributes changed, or there are too many.  That is a line in the report.  It is
 * never joined to another object's.
 *
 * Volumes that were begun when there was only .migrate/links/NUMBER keep these names: the first
 * object of that number that may be the one there, by its stub's handle, size and mtime, or if it
 * is whole by these two alone, takes the name over.
 *
 * What may crash where.  The provisional name is made, with its object, before any other.  It tells
 * by itself whose it is; what is in memory and in .migrate/linked-names (its version, how many
 * names are made) may be lost: then the provisional name stays until the end, and "clients changed
 * it" means an mtime since .migrate/links was made.  A name that was taken over or put off was
 * renamed in one step.
 */
#ifndef RETRIEVER_OBJECTS_LINKS_H
#define RETRIEVER_OBJECTS_LINKS_H

#include "retriever/objects/retriever.h"

#define LINK_NAME_LEN 64

struct link_id {
	uint64_t fileid, object;
};

struct links *links_new(void);
void links_free(struct links *links);
/* Which names of what has more than one link were made before, and which inodes are whose, from
 * .migrate/claimed. */
void links_load(struct retriever *retriever);

/* Provisional names and counts of a listing that is over.  0 or -errno. */
int links_forget(struct retriever *retriever);
/* Which object it is.  attr: as LOOKUP or READDIR brought it. */
struct link_id links_id(const struct source_attr *attr);
/* In one number. */
uint64_t links_number(const struct source_attr *attr);
/* The name in .migrate/links/. */
void links_name(char name[LINK_NAME_LEN], const struct link_id *id);
/* Makes it that of the names in directories of another project than that one is of, and of that
 * version; it stays until the listing is over. */
void links_name_apart(char name[LINK_NAME_LEN], uint32_t project, const struct source_attr *attr);
/*
 * A name of it is about to be made: sees to it that what has its provisional name, if anything, is
 * the object.  NULL, or why the name may be parted from others.  Blocks for the disk.  Any thread.
 */
const char *links_begin(struct retriever *retriever, const struct source_entry *entry);
/* The provisional name of what is here. */
bool links_find(const struct retriever *retriever, const struct migrate_binding *key, ino_t inode,
		char name[LINK_NAME_LEN]);
/*
 * What a copy has under several names may be the content of one object only: whether the inode is
 * free, or this object's.  It is this object's from then on; keep: also after a crash.
 */
bool links_claim(struct retriever *retriever, uint64_t inode, const struct source_attr *attr,
		 bool keep);
/* One more name of it is there.  Blocks for the disk.  Any thread. */
void links_count(struct retriever *retriever, const struct source_attr *attr);

#endif
