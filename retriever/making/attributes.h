/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gives a new object the attributes of the old server's object before the new one can be seen:
 * owner, ACL, extended attributes, mode, times.
 *
 * The order matters.  chown clears bits of the mode, so it comes first.  Then attributes that the
 * object inherited from its directory are removed.  Setting an ACL sets the mode's permission bits,
 * and a chmod after it sets the ACL's mask: so the ACL comes first, then the mode, with the ACL's
 * own bits where there is an ACL.  Times come last.
 *
 * A user who owns an object here and did not own it on the old server does not get the owner's
 * rights: see acl_close().
 *
 * If an ACL cannot be set, the mode that replaces it must not grant more rights than the ACL: the
 * group's bits of the mode are the ACL's mask, and the users and groups that the ACL names would be
 * treated as the group or as others.  The object gets a mode that grants no user more than the ACL
 * did (acl_mode_alone()), and the loss is reported.
 */
#ifndef RETRIEVER_MAKING_ATTRIBUTES_H
#define RETRIEVER_MAKING_ATTRIBUTES_H

#include "retriever/making/attributes_result.h"
#include "retriever/making/attributes_times.h"

/* Takes the answer of BACKEND_XATTRS: *xattrs, and newer attributes for the entry if there are any.
 * The entry keeps its atime if the object is unchanged otherwise, or if its bytes were asked for: a
 * read, by this request or another, may have changed the atime (I8).  FALSE: the answer is about
 * another object than the entry, and nothing is taken. */
bool attributes_take_answer(struct backend_request *req, struct source_entry *entry,
			    struct source_xattrs **xattrs);

/*
 * For a file or directory.  xattrs: NULL where extended attributes are not carried over.  inherits:
 * the object was made in a directory with a default ACL.  0, or -errno: then the object must not be
 * shown.  Where xattrs are closed, the object belongs to root and has no permission bits.
 */
int attributes_set(struct retriever *retriever, int fd, const struct source_attr *attr,
		   const struct source_xattrs *xattrs, bool inherits,
		   struct attributes_result *carried);
/* The room that a file system has for an object's attributes, in bytes; 0: as much as the kernel
 * allows. */
struct attributes_room {
	uint32_t each;	   /* for a value */
	uint32_t together; /* for all of them, names and heads too */
	struct times_room times;
};
/*
 * Finds the losses that attributes_set() would find, without an object here, except those that only
 * the new file system can tell.  xattrs: NULL where extended attributes are not carried over.
 * Returns how many bytes they take.
 */
uint32_t attributes_foresee(const struct volume_config *config, struct attributes_room room,
			    const struct source_attr *attr, const struct source_xattrs *xattrs,
			    struct attributes_result *carried);
/* As attributes_set(), for an object that is neither file nor directory, by its name.  If the
 * object has an ACL and xattrs have none, its ACL is removed. */
int attributes_set_node(struct retriever *retriever, int dir_fd, const char *name,
			const struct source_attr *attr, const struct source_xattrs *xattrs,
			struct attributes_result *carried);

/* Called before attributes_set() on an object that was here already: removes attributes that
 * attributes_set() would not replace.  0 or -errno. */
int attributes_strip(int fd);

#endif
