/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an object here is to the one on the old server, which may have what never came. */
#ifndef CTL_ROLLBACK_ATTRS_THERE_H
#define CTL_ROLLBACK_ATTRS_THERE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "lib/report/omissions.h"

struct volume_config;

/* What is known of the object there that is given to. */
struct attrs_base {
	unsigned told; /* of the volume: TOLD_*; 0: not known */
	/* As it was before this run did anything to it; NULL: it was made by the way back, for one
	 * that was made here, and has nothing that did not come from here. */
	const struct stat *old;
	bool set; /* its attributes may have been set here since the switch */
	/* Attributes that it has from here all the same, and attrs_remember()'s; NULL: none. */
	GHashTable *given;
};

struct attrs {
	struct stat st;	    /* times and size as clients see them; owners of the new server */
	GHashTable *xattrs; /* name -> GBytes: ACLs, user attributes, Samba's descriptor */
	char *target;	    /* of a symbolic link, else NULL */
	bool partial;	    /* of a file, whose data is not all here */
	struct omissions left;
	uint64_t acl; /* omissions_acl(), where anything was left out */
	/* The caller's. */
	bool held;		       /* attrs_give() changes nothing */
	bool written;		       /* its data come from here */
	const struct attrs_base *base; /* NULL: everything that it has there came from here */
	GHashTable **gave; /* names for base->given, made where there are some; NULL: nobody asks */
};

/* Those to be given, of access and modification: what stands here for one that cannot be kept here
 * is not. */
void attrs_times(const struct attrs *attrs, struct timespec times[2]);

/* How the object there was; NULL: everything that it has came from here. */
static inline const struct stat *attrs_old(const struct attrs *attrs)
{
	return attrs->base ? attrs->base->old : NULL;
}

/*
 * What the object there was like before the way back gave it anything: noted where something here
 * may stand for it (left_out.h), durably, before the first gift.  So what a client gives back to
 * what it was here at the switch comes back there, too, whatever was given in between.
 * What somebody else does to it there before the first gift, or after one, counts as what it was
 * like: nothing brings back rights that he took away.
 * Into *given, made where it is none.  acls: by attrs_acls; NULL: none.  gives: attributes, and not
 * times alone; attrs_note_left() then says what came of it.
 */
extern const char *const attrs_acls[2];
void attrs_remember(GHashTable **given, const struct stat *st, GBytes *const acls[2], bool gives);
/* given: NULL, or as it is noted. */
void attrs_note_left(GHashTable *given, const struct stat *st, GBytes *const acls[2]);
/* FALSE: nothing was noted, and *st is as it was.  Sets owners, mode without type, and mtime. */
bool attrs_was(const struct attrs *attrs, struct stat *st);
/* NULL: it had none. */
GBytes *attrs_was_acl(const struct attrs *attrs, const char *name);

#define XATTR_NFS4_ACL "system.nfs4_acl"
/* Whether the way back gives extended attributes of this name. */
bool attrs_is_carried(const char *name);
/* NULL: it has none, or errno says why it cannot be read. */
GBytes *attrs_read_xattr(const char *path, const char *name);
/* NULL: there is none, or it is none. */
struct acl *attrs_decode_acl(GBytes *value);
/* Whether the ACL of that name grants what the one there does, which came as one of NFS version 4.
 */
bool attrs_is_translated(const struct attrs *attrs, const char *name, GBytes *there);
/* Whether the object there may have an attribute of this name, as it is called here, that never
 * came, though it is not here; it stays there then.  *doubted (or NULL): nobody knows. */
bool attrs_keeps(const struct attrs *attrs, const char *name, bool *doubted);
#define ATTRS_DOUBTED "%s is not here, and may never have been brought: it stays there"
/* security.NTACL is as the retriever made it: no Samba has set it since. */
bool attrs_is_brought(GBytes *descriptor);
/* Whether the file there, fd, has what one that takes its place would not have. */
bool attrs_holds_more(int fd, const struct attrs *attrs);
/* It was given one of this name. */
void attrs_note_given(const struct attrs *attrs, const char *name);
/* As if it had been given all that can only be a client's: who is killed while he gives it cannot
 * note it any more, and what a client removes then is known to have been here. */
void attrs_note_to_give(const struct attrs *attrs);

#endif
