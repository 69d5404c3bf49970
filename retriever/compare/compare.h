/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares one object here with the same object on the old server. */
#ifndef RETRIEVER_COMPARE_COMPARE_H
#define RETRIEVER_COMPARE_COMPARE_H

#include "lib/report/manifest/finding.h"
#include "retriever/compare/asker.h"
#include "retriever/compare/clients.h"
#include "retriever/compare/content.h"
#include "retriever/compare/likeness.h"
#include "retriever/compare/link_pairs.h"

/* The state that all comparisons of a run share. */
struct compare {
	struct retriever *retriever;
	struct asker asker;
	struct disk *disk;
	struct scratches *scratches;
	struct clients *clients;
	struct link_pairs *linked;
	GHashTable *ruled; /* paths of directories whose names rules have changed; or NULL */
	gint64 bytes;	   /* atomic: of files, compared so far */
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
 * Compares the object that the old server lists as entry; fills in attributes that the entry lacks.
 * sampled: compares also the bytes, the ACL and the extended attributes.  Blocks for the disk and
 * the old server; not on a thread of either.
 */
void compare_entry(struct compare *compare, const struct compare_place *place,
		   struct source_entry *entry, bool sampled, struct compared *compared);

/* The root: place->fd and ->attr are its own. */
void compare_root(struct compare *compare, const struct compare_place *place,
		  const struct source_object *object, struct compared *compared);

/* Fill an entry of the proof with an object's attributes: those here, and those on the old server.
 */
void compare_fill_here(struct proof_entry *entry, const struct stat *st);
void compare_fill_there(struct compare *compare, struct proof_entry *entry,
			const struct source_attr *attr);

/* Looks the name up in the directory of that path.  0 or -errno. */
int compare_look_up(struct compare *compare, const char *path, struct source_entry *entry);

/* Asks for the object's ACL and extended attributes; *xattrs is NULL where none are carried over.
 * The entry gets newer attributes.  0 or -errno. */
int compare_ask_xattrs(struct compare *compare, const char *dir, struct source_entry *entry,
		       struct source_xattrs **xattrs);

/* Opens the directory of that path below the root here: a descriptor, or -errno. */
int compare_open_here(const struct retriever *retriever, const char *path);

/* The path of a child of that name.  g_free. */
char *compare_path(const char *dir, const char *name);

#endif
