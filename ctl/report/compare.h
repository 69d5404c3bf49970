/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares a manifest with a tree: the new server's, a backup of it, a copy elsewhere.  Both come
 * sorted, so memory does not grow with them; the tree's files are read once.
 */
#ifndef CTL_REPORT_COMPARE_H
#define CTL_REPORT_COMPARE_H

#include "lib/report/manifest/manifest.h"

/* One line: a path, and what about it. */
typedef void (*compare_fn)(void *arg, const char *path, const char *what);

struct compare_count {
	uint64_t compared, hashed; /* entries that are as the manifest says; with their content */
	uint64_t skipped; /* entries that say nothing about the tree: unfinished, different */
	uint64_t differences;
};

/*
 * Calls fn for each difference.  directory: for temporary files, as large as a text of the tree's
 * names.  Neither a mount nor a symbolic link below the root is followed, and the migration's
 * .migrate/ is not.  FALSE with error set: the manifest is damaged, or the tree cannot be read.
 */
gboolean compare_tree(struct manifest *manifest, int root_fd, const char *directory, compare_fn fn,
		      void *arg, struct compare_count *count, GError **error);

#endif
