/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counts of a survey.  One thread at a time. */
#ifndef CTL_CHECK_TALLY_H
#define CTL_CHECK_TALLY_H

#include "lib/source/source.h"

enum tally_type { TALLY_FILES, TALLY_DIRECTORIES, TALLY_LINKS, TALLY_SPECIAL, TALLY_TYPES };
const char *tally_type_key(enum tally_type type);
const char *tally_type_title(enum tally_type type);

/* Classes of files by size, and of all objects by the time of their last change (mtime). */
#define TALLY_SIZES 9
#define TALLY_AGES  7
/* "empty", "up to 4 KiB", ... and "less than a day", ... */
const char *tally_size_title(unsigned class);
const char *tally_age_title(unsigned class);

#define TALLY_TOP 10

struct tally_place {
	uint64_t value; /* entries, bytes, or the length */
	double seconds; /* that it took to list it, where it was */
	char *path;
};

/* The largest ones, the largest first; of paths and names only the longest of each directory. */
struct tally_top {
	unsigned n;
	struct tally_place places[TALLY_TOP];
};

struct tally_class {
	uint64_t objects, bytes;
};

struct tally {
	int64_t now; /* ns since 1970: what ages are counted from */
	uint64_t types[TALLY_TYPES];
	uint64_t bytes; /* of files, by their names */
	uint64_t used;	/* bytes that they take there */
	/* Each name of a file with several names counts for its part of the file, so that these
	 * sums are as they will be here if all names are in the tree. */
	double own_objects, own_bytes, own_used, own_blocks; /* blocks: bytes in whole 4 KiB */
	uint64_t linked;				     /* names of files with several */
	uint64_t name_bytes;
	uint64_t small, small_bytes;		   /* files that are not longer than TALLY_SMALL */
	uint64_t asked, acls, xattrs, xattr_bytes; /* objects that have some */
	uint64_t large_xattrs; /* objects whose attributes do not fit into an inode of 512 bytes */
	struct tally_class sizes[TALLY_SIZES], ages[TALLY_AGES];
	unsigned depth;				    /* of the deepest: names below the root */
	struct tally_top wide, heavy, paths, names; /* entries, bytes in it; bytes of text */
	int64_t newest;				    /* ctime that any object has, ns; ... */
	int64_t newest_seen;   /* ... and when that was seen, by the clock of this machine */
	uint64_t file_systems; /* objects on another file system than the root */
};

#define TALLY_SMALL	 (64 << 10)
#define TALLY_INODE_ROOM 240 /* that attributes have in an inode of 512 bytes beside a record */

void tally_clear(struct tally *tally);
/* One object, by one of its names.  path: below the root, "" the root itself. */
void tally_add(struct tally *tally, const char *path, const struct source_attr *attr);
/* A directory that was listed: its entries, the bytes of files in it, and how long it took. */
void tally_listed(struct tally *tally, const char *path, uint64_t entries, uint64_t bytes,
		  double seconds);
uint64_t tally_objects(const struct tally *tally);

void tally_save(const struct tally *tally, GKeyFile *state);
/* Loads state into a tally that is all zeros.  FALSE: it is damaged. */
bool tally_load(struct tally *tally, GKeyFile *state);

#endif
