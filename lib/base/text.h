/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names on the old server that nothing can have here, as they are shown: one line of printable
 * UTF-8, with backslashes and everything else as \ooo, halves of surrogate pairs as \u and four
 * digits.  It is cut after REFUSED_TEXT_MAX bytes, and ends in a checksum then, so that no two are
 * shown alike; "" is two quotation marks.  g_free.
 */
#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define REFUSED_TEXT_MAX 1600

char *text_name(const void *bytes, size_t len);
char *text_name_utf16(const uint8_t *bytes, size_t len);

/* Anything, as one line of output: what is not printable as \ooo, backslashes as they are.  g_free.
 */
char *text_line(const char *text);

/* The word for so many: "volumes", "volume" of one; "directories are", "directory is". */
const char *text_plural(uint64_t n, const char *plural);
/* A number and its word, "3 files", in a format and behind it. */
#define TEXT_COUNT		"%" G_GUINT64_FORMAT " %s"
#define TEXT_COUNTED(n, plural) (uint64_t)(n), text_plural((uint64_t)(n), plural)

/* Not of a name alone: as it is; with bytes as \ooo where it is not UTF-8.  g_free. */
char *text_utf8(const char *text);
/* Anything, as one line of UTF-8.  g_free. */
char *text_printable(const char *text);

#endif
