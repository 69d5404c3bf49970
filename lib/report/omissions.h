/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the way back has to know of what was never brought.
 *
 * An object that could not get all that the old one has gets a mark, which it keeps: the extended
 * attribute trusted.quickmigrate.left.  It says what is missing, and what stands here in its place.
 * It is on the object before that can be seen: no crash can part them, as it could a list.  One
 * that has all of it has none.  The root has another one, trusted.quickmigrate.told: which classes
 * of attributes the old server has told of all the time.  Without that nothing is known, and an
 * object without a mark may lack something too: those who made it knew no marks.
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
	LEFT_OTHERS = 1 << 4, /* attributes whose names are not known, or are no names here */
	LEFT_NAMES = 1 << 5,  /* attributes, by `names`; of ACLs those that are not POSIX */
	LEFT_SOURCE = 1 << 6, /* what is not carried at all */
	LEFT_MORE = 1 << 7,   /* with LEFT_OTHERS: attributes for which `names` had no room */
};

#define LEFT_NAMES_MAX 8

struct omissions {
	unsigned what; /* 0: nothing was */
	/* what it has here, when it was made */
	mode_t mode; /* without the type */
	uint32_t uid, gid;
	int64_t mtime; /* ns */
	uint64_t acl;  /* omissions_acl() */
	unsigned count;
	uint32_t names[LEFT_NAMES_MAX];
};

/* An attribute could not be set.  After LEFT_NAMES_MAX: LEFT_OTHERS and LEFT_MORE. */
void omissions_add(struct omissions *left, const char *name);
bool omissions_has(const struct omissions *left, const char *name);

/*
 * Of fd, or of name in it, which has its attributes by now.  Fills the rest of *left.
 * Where nothing is left out it does nothing.  0 or -errno; -ENOSPC: also where it has too many
 * other attributes.
 */
int omissions_put(int fd, const char *name, struct omissions *left);
/* Nothing is left out where there is none; LEFT_ANY where it makes no sense.  path: followed. */
#define LEFT_ANY (LEFT_OWNER | LEFT_MODE | LEFT_ACL | LEFT_TIME | LEFT_OTHERS)
void omissions_get(const char *path, struct omissions *left);
/* Of both ACLs that the object has, 0: none.  path: followed. */
uint64_t omissions_acl(const char *path);

enum {
	TOLD_ACLS = 1 << 0,
	TOLD_XATTRS = 1 << 1,
	TOLD_WINDOWS = 1 << 2, /* acl-source, of what comes from there */
	TOLD_NFS4 = 1 << 3,    /* its ACLs are of NFS version 4, and were translated */
	TOLD_KNOWN = 1 << 7
};
/* The source tells of these, TOLD_*, now.  anew: of no object before; else what it told of before
 * counts too, and if that is not known nothing is noted.  0 or -errno. */
int omissions_told(int root_fd, unsigned told, bool anew);
/* 0: it is not known. */
unsigned omissions_get_told(int root_fd);

/* Whether an extended attribute of this name is what clients can see, or decides on access. */
bool xattr_is_carried(const char *name);
/* A root keeps that attribute when all is done with; where it cannot be told, it was. */
bool omissions_was_attached(int root_fd);
/* It is, maybe since before there was that attribute.  0 or -errno. */
int left_out_attached(int root_fd);

#endif
