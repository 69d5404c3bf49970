/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One object on its way to its name: what all ways of making one have in common. */
#ifndef RETRIEVER_MAKING_NEW_OBJECT_H
#define RETRIEVER_MAKING_NEW_OBJECT_H

#include "retriever/making/attributes.h"
#include "retriever/making/make_parent.h"

#define NEW_OBJECT_NAME_LEN 32

struct new_object {
	struct retriever *retriever;
	const struct make_parent *parent;
	const struct source_entry *entry;
	const char *target;
	const struct source_xattrs *xattrs;
	int dir_fd;	/* where it gets a name first, */
	const char *as; /* and which */
	int stage_fd;	/* where it is made first; see project.h */
	struct attributes_result carried;
	bool absent;		      /* nothing had the name a moment ago */
	bool linked;		      /* to a provisional name */
	bool brought;		      /* its data came too, and is in the page cache */
	bool here;		      /* nothing of its data need be fetched */
	struct migrate_extents zeros; /* of its data */
};

/* A name in .migrate/staging/ that nothing else has. */
void new_object_stage(struct new_object *m, char name[NEW_OBJECT_NAME_LEN]);
/* Whether what it has beside its attributes must be known and is not. */
bool new_object_lacks_attributes(const struct new_object *m);
/* Likewise, or its bytes are to come too. */
bool new_object_must_ask(const struct new_object *m);
/* Whether the old server does not tell its rights, so that nobody gets any. */
bool new_object_is_closed(const struct new_object *m);
/* Whether it is made with a record. */
bool new_object_is_stub(const struct new_object *m);
/* The record of a stub, but the binding.  0 or -errno; to be cleared in any case. */
int new_object_record(const struct new_object *m, struct migrate_record *rec);
/* Binds it to the inode of fd, and stores it there.  0 or -errno. */
int new_object_store_record(int fd, struct migrate_record *rec);
/* Binds it to another inode, so that it is none (I9), and stores it: what has no room beside it is
 * left out when attributes are set, and it has room when it is stored after them. */
int new_object_store_void(int fd, struct migrate_record *rec);
/* Gives fd the record of new_object_record(), with these flags besides.  0 or -errno. */
int new_object_put_record(const struct new_object *m, int fd, uint16_t flags);
/* Likewise new_object_store_void(). */
int new_object_keep_room(const struct new_object *m, int fd);
/* Gives it the attributes, and reports what is lost: before it can be seen.  0 or -errno. */
int new_object_set_attributes(struct new_object *m, int fd, bool inherits);
/* It has its name. */
void new_object_count(const struct new_object *m);

#endif
