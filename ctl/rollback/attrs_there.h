/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the attributes of an object on the new server with those of the same object on the old
 * server.  Attributes of the old server that were never brought over stay there. */
#ifndef CTL_ROLLBACK_ATTRS_THERE_H
#define CTL_ROLLBACK_ATTRS_THERE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "lib/report/omissions.h"

struct volume_config;

/* What is known of the object on the old server that attributes are given to. */
struct attrs_base {
	unsigned told; /* what the volume's source tells of: TOLD_*; 0: not known */
	/* What it was before this run did anything to it.  NULL: the way back made it for an object
	 * that was made here, or makes it anew, so that all that it has came from here. */
	const struct stat *old;
	bool set; /* its attributes may have been set here since the switch */
	/* Names of attributes that it has from here where it might have one of its own, and the
	 * notes of attrs_remember(); NULL: none. */
	GHashTable *given;
};

struct attrs {
	struct stat st;	    /* times and size as clients see them; owners of the new server */
	GHashTable *xattrs; /* name -> GBytes: ACLs, user attributes, Samba's descriptor */
	char *target;	    /* of a symbolic link, else NULL */
	bool partial;	    /* of a file: not all of its data is here */
	struct omissions left;
	uint64_t acl; /* omissions_acl(), where anything was left out */
	/* Set by the caller. */
	bool held;		       /* attrs_give() changes nothing */
	bool written;		       /* its data come from here */
	const struct attrs_base *base; /* NULL: everything that it has there came from here */
	GHashTable **gave; /* names for base->given, in a new table if any; NULL: not wanted */
};

/* The times of access and modification that are to be given.  Where a time only stands here for one
 * that cannot be kept here, the object's own time on the old server is returned. */
void attrs_times(const struct attrs *attrs, struct timespec times[2]);
/* The second of them, in nanoseconds. */
int64_t attrs_mtime(const struct attrs *attrs);

/* The object on the old server before this run; NULL: everything that it has came from here. */
static inline const struct stat *attrs_old(const struct attrs *attrs)
{
	return attrs->base ? attrs->base->old : NULL;
}

/*
 * Notes in *given what the object on the old server was like before the way back gave it anything.
 * It is called where a value here may stand for another one (omissions.h), and its notes are made
 * durable before the first attribute is given.  So when a client sets an object back to what it was
 * here at the switch, the old server's object gets back what it had, whatever was given in between.
 *
 * What somebody else changes there, before the first attribute is given or after one, counts as the
 * object's own: nothing brings back rights that he took away.
 *
 * *given NULL: a new table.  acls: in the order of attrs_acls; NULL: it has none.  gives:
 * attributes will be given, and not times alone; then attrs_note_left() notes the result.
 */
extern const char *const attrs_acls[2];
void attrs_remember(GHashTable **given, const struct stat *st, GBytes *const acls[2], bool gives);
/* Notes what the object is like after it was given attributes.  given: NULL, or what
 * attrs_remember() made. */
void attrs_note_left(GHashTable *given, const struct stat *st, GBytes *const acls[2]);
/* Sets the owners, the mode (without the type) and the mtime of *st to those that were noted.
 * FALSE: nothing was noted, and *st is unchanged. */
bool attrs_was(const struct attrs *attrs, struct stat *st);
/* The ACL that was noted; NULL: it had none. */
GBytes *attrs_was_acl(const struct attrs *attrs, const char *name);

#define XATTR_NFS4_ACL "system.nfs4_acl"
/* Whether the way back gives extended attributes of this name. */
bool attrs_is_carried(const char *name);
/* NULL: it has none, or errno says why it cannot be read. */
GBytes *attrs_read_xattr(const char *path, const char *name);
/* NULL: value is NULL, or no ACL. */
struct acl *attrs_decode_acl(GBytes *value);
/* Whether the object's ACL of that name here grants the same as `there`, its ACL on the old server,
 * which came over as one of NFS version 4. */
bool attrs_is_translated(const struct attrs *attrs, const char *name, GBytes *there);
/* Whether the object on the old server keeps an attribute of this name (as it is called here)
 * although the object here has none: it may never have been brought.  *doubted (may be NULL):
 * whether that is not known. */
bool attrs_keeps(const struct attrs *attrs, const char *name, bool *doubted);
#define ATTRS_DOUBTED "%s is not here, and may never have been brought: it stays there"
/* Whether descriptor, a value of security.NTACL, is as the retriever made it: Samba has not set it
 * since. */
bool attrs_is_brought(GBytes *descriptor);
/* Whether the old server's file fd has something that a file made from attrs in its place would
 * lack. */
bool attrs_holds_more(int fd, const struct attrs *attrs);
/* Notes that the object was given an attribute of this name. */
void attrs_note_given(const struct attrs *attrs, const char *name);
/* Notes in advance, as if they had been given, all attributes that can only be a client's: a run
 * that is killed while it gives them can note nothing any more, and when a client removes one after
 * that, it must be known to have been here. */
void attrs_note_to_give(const struct attrs *attrs);

#endif
