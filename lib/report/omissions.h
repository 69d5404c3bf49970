/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes for the way back what an object never got from the old server.
 *
 * An object that could not get all that the old object has gets a mark, which it keeps: the
 * extended attribute trusted.quickmigrate.left.  The mark says what is missing, and what stands
 * here in its place.  The object has the mark before clients can see it: no crash can part the two,
 * as it could part a list from the objects.  A complete object has no mark.  The root has another
 * attribute, trusted.quickmigrate.told: the classes of attributes of which the old server has told
 * all the time.  Without that attribute nothing is known, and an object without a mark may lack
 * something, too: a release made it that knew no marks.
 *
 * Layout of a mark, little-endian: u8 version (1), u8 what, u16 mode, u32 uid, u32 gid, i64 mtime
 * in ns, u64 hash of the ACLs, then a u32 hash for each name.
 */
#ifndef LIB_REPORT_OMISSIONS_H
#define LIB_REPORT_OMISSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define XATTR_LEFT_OUT "trusted.quickmigrate.left"
#define XATTR_TOLD     "trusted.quickmigrate.told"

enum {
	LEFT_OWNER = 1 << 0,
	LEFT_MODE = 1 << 1,
	LEFT_ACL = 1 << 2, /* of any kind, or a part of it */
	LEFT_TIME = 1 << 3,
	LEFT_OTHERS = 1 << 4, /* attributes whose names are not known, or are not possible here */
	LEFT_NAMES = 1 << 5,  /* attributes, by `names`; ACLs that are not POSIX, too */
	LEFT_SOURCE = 1 << 6, /* things that are not carried over at all */
	LEFT_MORE = 1 << 7,   /* with LEFT_OTHERS: attributes for which `names` had no room */
};

#define LEFT_NAMES_MAX 8

struct omissions {
	unsigned what; /* 0: nothing is missing */
	/* what the object had here when it was made */
	mode_t mode; /* without the type */
	uint32_t uid, gid;
	int64_t mtime; /* ns */
	uint64_t acl;  /* omissions_acl() */
	unsigned count;
	uint32_t names[LEFT_NAMES_MAX];
};

/* Notes an attribute that could not be set.  After LEFT_NAMES_MAX of them: LEFT_OTHERS and
 * LEFT_MORE. */
void omissions_add(struct omissions *left, const char *name);
bool omissions_has(const struct omissions *left, const char *name);

/*
 * Puts the mark on the object fd, or on name in it, which has its attributes by now.  Fills the
 * rest of *left.  Does nothing if nothing is missing.  0 or -errno; -ENOSPC: also if the object has
 * too many other attributes.
 */
int omissions_put(int fd, const char *name, struct omissions *left);
/* Reads an object's mark.  Without a mark nothing is missing; LEFT_ANY: the mark makes no sense.
 * path: symbolic links are followed. */
#define LEFT_ANY (LEFT_OWNER | LEFT_MODE | LEFT_ACL | LEFT_TIME | LEFT_OTHERS)
void omissions_get(const char *path, struct omissions *left);
/* A hash of both ACLs of the object; 0: it has none.  path: symbolic links are followed. */
uint64_t omissions_acl(const char *path);

enum {
	TOLD_ACLS = 1 << 0,
	TOLD_XATTRS = 1 << 1,
	TOLD_WINDOWS = 1 << 2, /* what comes from acl-source */
	TOLD_NFS4 = 1 << 3,    /* the old server's ACLs are of NFS version 4, and were translated */
	TOLD_KNOWN = 1 << 7
};
/* Notes which classes (TOLD_*) the source tells of now.  anew: no object was made before; else what
 * the source told before counts, too, and nothing is noted if that is not known.  0 or -errno. */
int omissions_told(int root_fd, unsigned told, bool anew);
/* 0: it is not known. */
unsigned omissions_get_told(int root_fd);

/* Whether an extended attribute of this name is what clients can see, or decides on access. */
bool xattr_is_carried(const char *name);
/* Whether the root was attached once: it keeps an attribute when all is over.  TRUE also if that
 * cannot be read. */
bool omissions_was_attached(int root_fd);
/* Notes that the root is attached, maybe by a release that did not have that attribute.  0 or
 * -errno. */
int left_out_attached(int root_fd);

#endif
