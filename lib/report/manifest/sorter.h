/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any number of lines in the order of their first field, byte by byte, by sort(1): about 70 MB of
 * memory, the rest in temporary files.  Lines with the same first field stay in the order in which
 * they came.  One thread.
 */
#ifndef LIB_REPORT_MANIFEST_SORTER_H
#define LIB_REPORT_MANIFEST_SORTER_H

#include <glib.h>

struct proof_sorter;

/* directory: for the temporary files, which are as large as all lines together at most.  NULL with
 * error set. */
struct proof_sorter *proof_sorter_new(const char *directory, GError **error);
/* Before the first proof_sorter_next().  The line ends in a newline and has no other.  Blocks. */
gboolean proof_sorter_add(struct proof_sorter *sorter, const char *line, gsize len, GError **error);
/* The next line without its newline, until the next call, and its length; NULL with *len 0 at the
 * end; NULL with error set: not all of it came. */
const char *proof_sorter_next(struct proof_sorter *sorter, gsize *len, GError **error);
/* At any time. */
void proof_sorter_free(struct proof_sorter *sorter);

#endif
