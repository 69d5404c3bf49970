/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Old servers that answer to a name in another spelling than the listed one: in upper or lower case
 * (casefold, ZFS, APFS, FAT, NTFS), or composed or decomposed (Unicode normalization forms C and D,
 * UAX #15).  Whether an old server does so may differ from directory to directory, so each
 * directory is tried.
 */
#ifndef RETRIEVER_OBJECTS_SPELLING_H
#define RETRIEVER_OBJECTS_SPELLING_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/record.h"

enum {
	SPELLING_CASE = 1 << 0, /* of ASCII letters: a server that folds any folds these */
	SPELLING_FORM = 1 << 1,
	SPELLING_LETTERS = 1 << 2, /* case of other letters: of a name without ASCII ones */
	SPELLING_LASTING = SPELLING_CASE | SPELLING_FORM, /* one trial is enough */
	SPELLINGS = 3,
	SPELLING_ANY = 1 << 3, /* known of a directory: it answers to other spellings */
};

/* The name in another spelling of that kind, for a trial; NULL: it has none.  g_free. */
char *spelling_other(const char *name, unsigned kind);

/*
 * What is known of directories.  SPELLING_CASE, SPELLING_FORM: that kind was tried; SPELLING_ANY:
 * the directory answers to other spellings.  A new entry may overwrite that of another directory.
 * Zeroed at first.  Any thread; never blocks.
 */
struct spellings {
	_Atomic uint64_t known[4096];
};
unsigned spellings_known(struct spellings *spellings, const struct migrate_binding *directory);
void spellings_note(struct spellings *spellings, const struct migrate_binding *directory,
		    unsigned kinds);

#endif
