/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory in which an object is made, and what making the object can return. */
#ifndef RETRIEVER_MAKING_MAKE_PARENT_H
#define RETRIEVER_MAKING_MAKE_PARENT_H

#include "retriever/objects/object.h"

struct make_parent {
	int fd;	       /* the directory on the new server */
	int prior_fd;  /* the same of the prior copy (prior.h); negative: none */
	bool named;    /* it holds dummies, which are replaced */
	bool inherits; /* it has a default ACL; acl_is_inherited() */
	/* of the entry that is made, a directory: all that the old server lists in it; or NULL */
	const struct backend_batch *listing;
	const char *path; /* its path below the source's root, "" for the root; NULL: not known */
	uint32_t small; /* a file of at most so many bytes is to be asked for with them; 0: none */
	gint *same;	/* atomic: counts what refresh_entry() found the same; NULL: nobody does */
	gint *lacking;	/* atomic: counts files that may lack data; NULL: nobody does */
	/* Called when a file has got its `size` bytes with its name: they are in the page cache,
	 * and its record says that they are missing.  NULL: no data comes with names now. */
	void (*brought)(struct object *object, uint64_t size);
};

/* What came of making an object, beside 0. */
enum make_outcome {
	MAKE_DONE,
	MAKE_THERE,    /* the name is there already */
	MAKE_ASK,      /* the old server has to be asked for its extended attributes first */
	MAKE_ASK_BARE, /* the same, without its bytes, which are here */
};

/* Whether the bytes of a file with these attributes are to come with its name; never for a file
 * with several names, because each name would bring the same bytes. */
bool make_wants_data(const struct make_parent *parent, const struct source_attr *attr);

/* Whether the file system has so much room that data may come with names: the last twentieth is
 * kept for names alone.  A file without its data can be looked up, a missing name cannot. */
bool make_has_room(int fd);

/* Of a step whose -EEXIST says that another has the name: sets *outcome to MAKE_THERE or MAKE_DONE,
 * and returns 0 or -errno. */
int make_named(int ret, enum make_outcome *outcome);

/* The path of a child below the source's root; NULL when it is too long for a record. g_free. */
char *make_child_path(const char *parent, const char *name);

#endif
