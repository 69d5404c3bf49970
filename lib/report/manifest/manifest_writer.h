/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a manifest (manifest.h).  One thread. */
#ifndef LIB_REPORT_MANIFEST_MANIFEST_WRITER_H
#define LIB_REPORT_MANIFEST_MANIFEST_WRITER_H

#include "lib/report/manifest/manifest.h"
#include "lib/report/manifest/sorter.h"

/* Called for each entry after it was written. */
typedef void (*manifest_entry_fn)(void *arg, const struct proof_entry *entry);

/*
 * Writes all lines of sorter to fd; of lines with the same path the last one counts.  comments:
 * lines for the head, each of which begins with "#" and ends with a newline.  count: what was
 * written.  Blocks for the disk; afterwards the manifest is durable.  FALSE with error set.
 */
gboolean manifest_write(int fd, const char *comments, struct proof_sorter *sorter,
			manifest_entry_fn fn, void *arg, struct manifest_count *count,
			GError **error);

#endif
