/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making one object on the new server from what the old one says of it.
 *
 * Creation is atomic for a crash and for everybody who looks: an object is made whole, with its
 * record, owner, mode and times, without a name (O_TMPFILE) or under one in .migrate/staging/, and
 * then linked or renamed to its place, never over something.  Measured on ext4 with 256-byte
 * inodes: 27 us of CPU against 22.5 for a file made in place under a marker mode; the 4.5 us buy
 * that no half-made name can be seen and that nothing has to be told apart after a crash.
 *
 * What has more than one link is linked from .migrate/links/ (links.h).
 */
#ifndef STUB_H
#define STUB_H

#include "object.h"

struct stub_parent {
	int fd;		  /* the directory on the new server */
	bool named;	  /* it holds dummies, which are replaced */
	bool inherits;	  /* it has a default ACL; acl_is_inherited() */
	const char *path; /* its path below the source's root, "" for the root; NULL: not known */
	uint32_t small; /* a file of at most so many bytes is to be asked for with them; 0: none */
	/* A file has got its `size` bytes with its name: they are in the page cache, and its record
	 * says that they are missing.  NULL: no data comes with names now. */
	void (*brought)(struct object *object, uint64_t size);
};

enum { STUB_THERE = 1, STUB_ASK = 2 };

/*
 * Makes `entry` in the directory.  target: a symbolic link's text, else NULL.  xattrs: what
 * BACKEND_XATTRS said of it, NULL where that was not asked.  Returns 0; STUB_THERE: the name is
 * there already; STUB_ASK: it has to be made, the old server has to be asked for xattrs first; or
 * -errno.  Any worker thread; blocks for the disk.
 */
int stub_create(struct retriever *retriever, const struct stub_parent *parent,
		const struct source_entry *entry, const char *target,
		const struct source_xattrs *xattrs);

/* Whether the bytes of such a file are to come with its name. */
bool stub_wants_data(const struct stub_parent *parent, const struct source_attr *attr);

/* Whether the file system has so much room that data may come with names: a twentieth, which names
 * alone can have.  A file that lacks its data can be looked up, a name that is missing cannot. */
bool stub_has_room(int fd);

/* The path of a child below the source's root; NULL when it is too long for a record. g_free. */
char *stub_child_path(const char *parent, const char *name);

#endif
