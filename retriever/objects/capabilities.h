/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the new file system can do.  Each thing that a volume uses and that some file system lacks
 * is a row of one table, and is tried out.  Without it there is another way, or the file system is
 * refused before a client is switched to it.  No code asks for a file system's name instead.
 *
 * What cannot be tried without harm is no row: whether syncfs(2) waits for the disk, whether a
 * quota counts what root writes.  What the guard and the journal need of fanotify(7) they try
 * themselves, when they start.
 */
#ifndef RETRIEVER_OBJECTS_CAPABILITIES_H
#define RETRIEVER_OBJECTS_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

enum capability {
	CAPABILITY_BINDING,
	CAPABILITY_MARKS,
	CAPABILITY_NAMELESS,
	CAPABILITY_GENERATION,
	CAPABILITY_HANDLES,
	CAPABILITY_RECORDS,
	CAPABILITY_DURABLE_RECORDS,
	CAPABILITY_NOREPLACE,
	CAPABILITY_EXCHANGE,
	CAPABILITY_LINKS,
	CAPABILITY_NAMES,
	CAPABILITY_SYMLINKS,
	CAPABILITY_SPECIAL,
	CAPABILITY_LOCKS,
	CAPABILITY_HOLES,
	CAPABILITY_DATA,
	CAPABILITY_ZEROS,
	CAPABILITY_ATTRIBUTES,
	CAPABILITY_EPOCH,
	CAPABILITY_ORDER,
	CAPABILITY_SOUND,
	CAPABILITY_LEASES,
	CAPABILITY_ACLS,
	CAPABILITY_USER_XATTRS,
	CAPABILITY_FINE_TIMES,
	CAPABILITY_BIRTH,
	CAPABILITY_PROJECTS,
	CAPABILITY_FLAGS,
	CAPABILITY_CLONES,
	CAPABILITIES
};

/* Bits 1 << enum capability.  All 0: nothing was tried, and all counts as there. */
struct capabilities {
	uint32_t tried, lacking;
};

/*
 * Before attach: makes the private directory in root_fd, tries everything in it and removes it; a
 * private directory that an unfinished attach left stays.  0, or -errno with *message: what is
 * missing and what to do, without the name of the volume; the caller frees it.  Blocks for the
 * disk.
 */
int capabilities_try(int root_fd, char **message);
/* The part of it that writes nothing.  *found: the rest is not tried. */
int capabilities_look(int root_fd, struct capabilities *found, char **message);
/*
 * At each start: tries, in .migrate/staging, those for which there is another way.  What fails for
 * another reason, as on a full disk, counts as there, so that its user gets that error.  Blocks for
 * the disk.
 */
void capabilities_find(int root_fd, int staging_fd, struct capabilities *found);

bool capabilities_has(const struct capabilities *found, enum capability which);

/* Its name in output for programs, and for people; static. */
const char *capability_key(enum capability which);
const char *capability_text(enum capability which);
/* What is done without it; NULL: attach refuses. */
const char *capability_way(enum capability which);

#endif
