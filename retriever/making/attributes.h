/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Giving a new object, which nobody can see yet, what the old one has: owner, ACL, extended
 * attributes, mode, times.
 *
 * The order counts.  chown clears bits of the mode, so it comes first.  What the object inherited
 * from its directory goes.  Setting an ACL sets the mode's permission bits, and a chmod after it
 * sets the ACL's mask: so the ACL comes first, then the mode, with the ACL's own bits where there
 * is one.  Times come last.
 *
 * Who owns an object here and did not own it there gets none of the owner's rights: see
 * acl_close().
 *
 * An ACL that cannot be set must not be replaced by more rights than it gave: its mask stands where
 * the group's bits are, and those whom it names fall among the group and the others.  The object
 * gets the mode that grants nobody more (acl_mode_alone()), and the loss is reported.
 */
#ifndef RETRIEVER_MAKING_ATTRIBUTES_H
#define RETRIEVER_MAKING_ATTRIBUTES_H

#include "lib/report/omissions.h"
#include "lib/report/losses.h"
#include "retriever/objects/retriever.h"

/* Takes what BACKEND_XATTRS answered: *xattrs, and newer attributes of the entry where they came,
 * but for the atime of what is the same otherwise, or whose bytes were asked for: reading them, for
 * whoever else asked, may have moved it (I8).
 * FALSE: it is another object's than the entry's, and nothing is taken. */
bool attributes_take_answer(struct backend_request *req, struct source_entry *entry,
			    struct source_xattrs **xattrs);

struct attributes_result {
	GPtrArray *lost;       /* of struct loss_line without paths; NULL: nothing */
	bool acl, xattrs;      /* what it got */
	struct omissions left; /* the mark that it got, if anything is lost */
};

/*
 * A file or directory.  xattrs: NULL where none are carried.  inherits: it was made in a directory
 * with a default ACL.  0 or -errno; then the object must not be shown.  Where xattrs are closed it
 * is root's and has no permission bits.
 */
int attributes_set(struct retriever *retriever, int fd, const struct source_attr *attr,
		   const struct source_xattrs *xattrs, bool inherits,
		   struct attributes_result *carried);
/* What a file system has for an object's attributes, bytes; 0: as many as the kernel takes. */
struct attributes_room {
	uint32_t each;	   /* for a value */
	uint32_t together; /* for all of them, names and heads too */
	/* And which times it keeps: seconds from 1970; both 0: not known. */
	int64_t first, last;
	bool seconds; /* whole ones */
};
/*
 * Of any object, without one: the losses that attributes_set() would find, but for those that only
 * the new file system knows.  xattrs: NULL where none are carried.  Returns how many bytes they
 * take.
 */
uint32_t attributes_foresee(const struct volume_config *config, struct attributes_room room,
			    const struct source_attr *attr, const struct source_xattrs *xattrs,
			    struct attributes_result *carried);
/* Anything else, by its name; likewise.  An ACL that it has, and xattrs do not, goes. */
int attributes_set_node(struct retriever *retriever, int dir_fd, const char *name,
			const struct source_attr *attr, const struct source_xattrs *xattrs,
			struct attributes_result *carried);

/* Before it, on an object that was there: removes what attributes_set() would not replace.  0 or
 * -errno. */
int attributes_strip(int fd);

/* Puts the losses into the report: before the object is shown.  name: in dir_fd; NULL: dir_fd's
 * own.  0 or -errno. */
int attributes_report(struct retriever *retriever, const struct attributes_result *carried,
		      int dir_fd, const char *name);
void attributes_clear(struct attributes_result *carried);

#endif
