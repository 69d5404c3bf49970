/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One object that is being made and has no name yet: the state and the steps that all ways of
 * making an object share. */
#ifndef RETRIEVER_MAKING_NEW_OBJECT_H
#define RETRIEVER_MAKING_NEW_OBJECT_H

#include "retriever/making/attributes.h"
#include "retriever/making/make_parent.h"
#include "retriever/making/nameless.h"

struct new_object {
	struct retriever *retriever;
	const struct make_parent *parent;
	const struct source_entry *entry;
	const char *target;
	const struct source_xattrs *xattrs;
	int dir_fd;		  /* where it gets a name first, */
	const char *as;		  /* and which */
	int stage_fd;		  /* where it is made first; see project.h */
	struct nameless nameless; /* a regular file */
	struct attributes_result carried;
	bool absent;		      /* nothing had the name a moment ago */
	bool linked;		      /* to a provisional name */
	bool brought;		      /* its data came too, and is in the page cache */
	bool here;		      /* nothing of its data need be fetched */
	struct migrate_extents zeros; /* of its data */
};

/* Whether the object's ACL and extended attributes are needed and not known. */
bool new_object_lacks_attributes(const struct new_object *m);
/* Whether the old server must be asked: for these, or because the object's bytes are to come too.
 */
bool new_object_must_ask(const struct new_object *m);
/* Whether the old server does not tell the object's rights, so that no user gets any. */
bool new_object_is_closed(const struct new_object *m);
/* Whether the object is made with a record. */
bool new_object_is_stub(const struct new_object *m);
/* Fills in the record of a stub, without the binding.  0 or -errno; the caller clears it in any
 * case. */
int new_object_record(const struct new_object *m, struct migrate_record *rec);
/* Binds the record to the inode of fd, and stores it there.  0 or -errno. */
int new_object_store_record(int fd, struct migrate_record *rec);
/* Stores a record that is bound to another inode, so that it does not count (I9).  It keeps room:
 * attributes that do not fit beside it are left out when attributes are set, and the real record,
 * which is stored after them, fits. */
int new_object_store_void(int fd, struct migrate_record *rec);
/* Gives fd the record of new_object_record(), with these flags besides.  0 or -errno. */
int new_object_put_record(const struct new_object *m, int fd, uint16_t flags);
/* The same with new_object_store_void() and no flags. */
int new_object_keep_room(const struct new_object *m, int fd);
/* Gives the object its attributes, and reports the losses, before it can be seen.  0 or -errno. */
int new_object_set_attributes(struct new_object *m, int fd, bool inherits);
/* Counts the object when it has its name. */
void new_object_count(const struct new_object *m);

#endif
