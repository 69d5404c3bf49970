/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One object on both sides. */
#ifndef RETRIEVER_COMPARE_COMPARE_H
#define RETRIEVER_COMPARE_COMPARE_H

#include "lib/report/manifest/finding.h"
#include "retriever/compare/asker.h"
#include "retriever/compare/clients.h"
#include "retriever/compare/content.h"
#include "retriever/compare/likeness.h"
#include "retriever/compare/link_pairs.h"

/* What the objects of a run are compared with. */
struct compare {
	struct retriever *retriever;
	struct asker asker;
	struct disk *disk;
	struct scratches *scratches;
	struct clients *clients;
	struct link_pairs *linked;
	gint64 bytes; /* atomic: of files, compared so far */
};

/* A directory on both sides. */
struct compare_place {
	int fd;		  /* here */
	const char *path; /* below both roots */
	const struct source_attr *attr;
};

struct compared {
	struct proof_entry entry;
	GArray *findings; /* of struct proof_finding */
	/* Out, besides */
	bool missing;	    /* it is not here; then entry is of the old server, and has no status */
	bool sampled;	    /* its bytes were compared */
	bool cached;	    /* not past the cache */
	bool names_to_come; /* a directory here that is not filled */
	bool linked;	    /* to be remembered: */
	guint64 fileid, inode;
	bool stopped; /* nothing of this counts */
};

void compared_init(struct compared *compared);
void compared_clear(struct compared *compared);
G_GNUC_PRINTF(4, 5)
void compared_find(struct compared *compared, enum proof_kind kind, int64_t since,
		   const char *format, ...);

/*
 * What the old server lists as entry, which gets what is missing of its attributes; sampled: with
 * its bytes, and all that is beside its attributes.  Blocks for the disk and the old server; not on
 * a thread of either.
 */
void compare_entry(struct compare *compare, const struct compare_place *place,
		   struct source_entry *entry, bool sampled, struct compared *compared);

/* The root: place->fd and ->attr are its own. */
void compare_root(struct compare *compare, const struct compare_place *place,
		  const struct source_object *object, struct compared *compared);

/* What an entry says of an object of this side, of the other one. */
void compare_fill_here(struct proof_entry *entry, const struct stat *st);
void compare_fill_there(struct compare *compare, struct proof_entry *entry,
			const struct source_attr *attr);

/* Looks the name up in the directory of that path.  0 or -errno. */
int compare_look_up(struct compare *compare, const char *path, struct source_entry *entry);

/* What the object has beside its attributes (of which the entry gets newer ones), or NULL.  0 or
 * -errno. */
int compare_ask_xattrs(struct compare *compare, const char *dir, struct source_entry *entry,
		       struct source_xattrs **xattrs);

/* The directory of that path below the root here: a descriptor, or -errno. */
int compare_open_here(const struct retriever *retriever, const char *path);

/* Of a child of that name.  g_free. */
char *compare_path(const char *dir, const char *name);

#endif
