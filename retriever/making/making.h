/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One object on its way to its name: what all ways of making one have in common. */
#ifndef RETRIEVER_MAKING_MAKING_H
#define RETRIEVER_MAKING_MAKING_H

#include "retriever/making/attributes.h"
#include "retriever/making/stub_parent.h"

#define MAKING_NAME_LEN 32

struct making {
	struct retriever *retriever;
	const struct stub_parent *parent;
	const struct source_entry *entry;
	const char *target;
	const struct source_xattrs *xattrs;
	int dir_fd;	/* where it gets a name first, */
	const char *as; /* and which */
	int stage_fd;	/* where it is made first; see project.h */
	struct carried carried;
	bool absent;		      /* nothing had the name a moment ago */
	bool linked;		      /* to a provisional name */
	bool brought;		      /* its data came too, and is in the page cache */
	bool here;		      /* nothing of its data need be fetched */
	struct migrate_extents zeros; /* of its data */
};

/* A name in .migrate/staging/ that nothing else has. */
void making_stage(struct making *m, char name[MAKING_NAME_LEN]);
/* Whether what it has beside its attributes must be known and is not. */
bool making_lacks_attributes(const struct making *m);
/* Likewise, or its bytes are to come too. */
bool making_must_ask(const struct making *m);
/* The record of a stub, but the binding.  0 or -errno; to be cleared in any case. */
int making_record(const struct making *m, struct migrate_record *rec);
/* Binds it to the inode of fd, and stores it there.  0 or -errno. */
int making_store_record(int fd, struct migrate_record *rec);
/* Binds it to another inode, so that it is none (I9), and stores it: what has no room beside it is
 * left out when attributes are set, and it has room when it is stored after them. */
int making_store_void(int fd, struct migrate_record *rec);
/* Gives fd the record of making_record(), with these flags besides.  0 or -errno. */
int making_put_record(const struct making *m, int fd, uint16_t flags);
/* Likewise making_store_void(). */
int making_keep_room(const struct making *m, int fd);
/* Gives it the attributes, and reports what is lost: before it can be seen.  0 or -errno. */
int making_set_attributes(struct making *m, int fd, bool inherits);
/* It has its name. */
void making_count(const struct making *m);

#endif
