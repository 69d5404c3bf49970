/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares an object's attributes, ACL and extended attributes with those that the old server's
 * object should have here: its attributes, ACL, extended attributes, streams and descriptor, as
 * they are carried over.
 *
 * There is no second computation of what they become.  Instead an object without a name, a scratch,
 * gets them as a new object does (attributes.h), with everything that the configuration maps and
 * that the file system refuses or rounds, and the scratch is compared with the object.  Attributes
 * that the object could not get while it had its record, and that it marks as left out
 * (omissions.h), count as lost; a descriptor that Samba has made up counts as the same
 * (smb_descriptor.h).
 */
#ifndef RETRIEVER_COMPARE_LIKENESS_H
#define RETRIEVER_COMPARE_LIKENESS_H

#include <sys/stat.h>

#include "lib/source/source.h"
#include "retriever/objects/retriever.h"

/* Objects without a name on the volume's file system.  Any thread. */
struct scratches;
struct scratches *scratches_new(struct retriever *retriever);
void scratches_free(struct scratches *scratches);

struct likeness {
	bool lost; /* something could not be carried over, and the report says what */
	/* How they differ, phrases with ", " between them; empty where they do not. */
	GString *attributes; /* owner, mode, mtime */
	GString *xattrs;     /* everything else */
};

/* fd: the object's; O_PATH unless it is a file or a directory.  xattrs: as of attributes_set().
 * like: zeroed, likeness_clear() after.  0, also where they differ, or -errno. */
int likeness_compare(struct scratches *scratches, int fd, const struct source_attr *attr,
		     const struct source_xattrs *xattrs, struct likeness *like);
/* Gives an open file or directory the attributes that it should have, and removes those that it
 * should not have.  0 or -errno; may be called again. */
int likeness_mend(struct scratches *scratches, int fd, const struct source_attr *attr,
		  const struct source_xattrs *xattrs);
void likeness_clear(struct likeness *like);

#endif
