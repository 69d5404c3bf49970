/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of a report: each is written beside its place, and is renamed into it when all are
 * written. */
#ifndef CTL_REPORT_PARTS_H
#define CTL_REPORT_PARTS_H

#include "ctl/report/final.h"

/* Makes the new file of that name, for reading and writing, for its owner alone: it has the names
 * of everybody's files.  -1 with error set. */
int part_create(int dir_fd, const char *name, GError **error);
/* Makes durable what was written, and makes it the file of that name.  FALSE with error set. */
gboolean part_keep(int dir_fd, const char *name, GError **error);
/* Removes the new file instead. */
void part_drop(int dir_fd, const char *name);

/* How long the file is, and its SHA-256; it is read from its beginning.  Blocks.  FALSE with error.
 */
gboolean part_hash(int fd, uint64_t *bytes, char hex[PROOF_HASH_HEX + 1], GError **error);

#endif
