/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hard links: an object that has more than one name on the old server is made once, as
 * .migrate/links/NUMBER-OBJECT, the provisional name, and each of its names is linked from there,
 * whichever name comes first.  The names that were made are counted, so that the provisional name
 * is removed when the last name is made.
 *
 * Two names are of one object (I13) only if the old server says so: it has the same number and
 * the same OBJECT.  OBJECT is made of
 *   - its handle, where two handles are two objects (source_attr.object).  The same number may
 *     stand for several objects: in subvolumes and snapshots behind one fsid, and where several
 *     disks are merged;
 *   - else its version: type, size, times, owner, mode, number of links.
 * An object with the same handle may have been changed on the old server since the first name was
 * made, or may be a new object with the handle of a removed one.  So the file here must have the
 * same size and mtime as the old server's object, unless clients changed the file here (I7): then
 * the names are one file, whatever the old server says of its object, because the way back may have
 * changed that object.  A file with another size or mtime stays as it is, and the new name becomes
 * a file of its own.
 *
 * So names that are one file on the old server may become several files here: where handles depend
 * on the path, where attributes changed, or where there are too many such objects.  Each such name
 * is a line in the report.  Names of different objects never become one file.
 *
 * Volumes of an earlier release have provisional names .migrate/links/NUMBER.  The first object of
 * that NUMBER that matches the file there takes the name over.  A stub matches by handle, size and
 * mtime, a whole file by size and mtime.
 *
 * What may crash where.  The provisional name is made, with its object, before any other name.  The
 * provisional name tells by itself which object it is of.  The object's version and the number of
 * names that are made, in memory and in .migrate/linked-names, may be lost: then the provisional
 * name stays until the end of the migration, and "clients changed it" means an mtime since
 * .migrate/links was made.  A name that was taken over or put off was renamed in one step.
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
/* Loads how many names of each object with several names were made before, and from
 * .migrate/claimed which inode belongs to which object. */
void links_load(struct retriever *retriever);

/* Removes the provisional names and counts when a listing is over.  0 or -errno. */
int links_forget(struct retriever *retriever);
/* Identifies the object that has these attributes.  attr: as LOOKUP or READDIR brought it. */
struct link_id links_id(const struct source_attr *attr);
/* The same identity, as one number. */
uint64_t links_number(const struct source_attr *attr);
/* The name in .migrate/links/. */
void links_name(char name[LINK_NAME_LEN], const struct link_id *id);
/* Changes the provisional name into the one for names in directories of this project, where the
 * first one belongs to another project, and for this version.  It stays until the listing is over.
 */
void links_name_apart(char name[LINK_NAME_LEN], uint32_t project, const struct source_attr *attr);
/*
 * Called when a name of the entry's object is about to be made: makes sure that a file that has the
 * provisional name, if there is one, is this object.  NULL, or why the name may become a file of
 * its own.  Blocks for the disk.  Any thread.
 */
const char *links_begin(struct retriever *retriever, const struct source_entry *entry);
/* Finds the provisional name of an object that is here. */
bool links_find(const struct retriever *retriever, const struct migrate_binding *key, ino_t inode,
		char name[LINK_NAME_LEN]);
/*
 * A file that a copy has under several names may become one object only.  Whether no other object
 * has claimed the inode; then it is this object's from now on.  keep: also after a crash.
 */
bool links_claim(struct retriever *retriever, uint64_t inode, const struct source_attr *attr,
		 bool keep);
/* Counts one more name of the object.  Blocks for the disk.  Any thread. */
void links_count(struct retriever *retriever, const struct source_attr *attr);

#endif
