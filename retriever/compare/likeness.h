/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an object has what the old one's attributes, ACL, extended attributes, streams and
 * descriptor become here.
 *
 * What they become is not worked out a second time: an object without a name, a scratch, is given
 * them as a new object is (attributes.h), with all that the configuration maps and the file system
 * refuses or rounds, and both are compared.  What an object could not get while it had its record,
 * and says so (left_out.h), counts as lost, and what Samba made up as the same (smb_descriptor.h).
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
	bool lost; /* something could not be carried over, and the fidelity report says what */
	/* How they differ, phrases with ", " between them; empty where they do not. */
	GString *attributes; /* owner, mode, mtime */
	GString *xattrs;     /* everything else */
};

/* fd: of the object, O_PATH unless it is a file or a directory.  xattrs: as of attributes_set().
 * like: zeroed, likeness_clear() after.  0, also where they differ, or -errno. */
int likeness_compare(struct scratches *scratches, int fd, const struct source_attr *attr,
		     const struct source_xattrs *xattrs, struct likeness *like);
/* Gives an open file or directory what it should have, and takes away what it should not.  0 or
 * -errno; may be done again. */
int likeness_mend(struct scratches *scratches, int fd, const struct source_attr *attr,
		  const struct source_xattrs *xattrs);
void likeness_clear(struct likeness *like);

#endif
