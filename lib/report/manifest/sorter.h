/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorts any number of lines by their first field, byte by byte, with sort(1): in about 70 MB of
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
/* Only before the first proof_sorter_next().  The line has one newline, at its end.  Blocks. */
gboolean proof_sorter_add(struct proof_sorter *sorter, const char *line, gsize len, GError **error);
/* The next line without its newline, valid until the next call, and its length.  NULL with *len 0
 * at the end.  NULL with error set: not all lines came. */
const char *proof_sorter_next(struct proof_sorter *sorter, gsize *len, GError **error);
/* May be called at any time. */
void proof_sorter_free(struct proof_sorter *sorter);

#endif
