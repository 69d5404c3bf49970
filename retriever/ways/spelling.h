/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Old servers that answer to a name in another spelling than the listed one: in upper or lower case
 * (casefold, ZFS, APFS, FAT, NTFS), or composed or decomposed (Unicode normalization forms C and D,
 * UAX #15).  Whether one does so is a property of the directory, and is tried there.
 */
#ifndef SPELLING_H
#define SPELLING_H

enum {
	SPELLING_CASE = 1 << 0, /* of ASCII letters: a server that folds any folds these */
	SPELLING_FORM = 1 << 1,
	SPELLING_LETTERS = 1 << 2, /* case of other letters: of a name without ASCII ones */
	SPELLING_LASTING = SPELLING_CASE | SPELLING_FORM, /* one trial is enough */
	SPELLINGS = 3
};

/* The name in another spelling of that kind, for a trial; NULL: it has none.  g_free. */
char *spelling_other(const char *name, unsigned kind);

#endif
