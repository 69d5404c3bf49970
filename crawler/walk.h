/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass over the new tree: every directory that is not normal is handed to the retriever, depth
 * first, several at a time; a normal directory is not looked into (I5).  A directory that cannot be
 * filled, maybe for one name only, is still looked into for its other names.
 *
 * A directory has an open descriptor only while a request for it is under way or while it is being
 * read; in between the walk keeps its kernel handle (directory.h).  The walk remembers the
 * directories that are begun and not done, and at most DIRECTORY_BATCH unvisited subdirectories of
 * each.
 *
 * Not thread-safe: everything, the callbacks of requests included, runs in one thread.
 */
#ifndef CRAWLER_WALK_H
#define CRAWLER_WALK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/migrate.h"

/* The functions by which a walk sees objects and reaches the retriever; walk_retriever has the real
 * ones. */
struct walk_ops {
	/* Like migrate_stub_load(), the state only. */
	int (*load)(int fd, enum migrate_state *state);
	/* Like migrate_fill_since() and migrate_finish_directory(). */
	uint64_t (*fill)(void *arg, int fd, unsigned flags, int64_t since, migrate_done_fn done,
			 void *done_arg);
	uint64_t (*finish)(void *arg, int fd, migrate_done_fn done, void *done_arg);
	/* Like migrate_fetch_range() of a whole file. */
	uint64_t (*fetch)(void *arg, int fd, unsigned flags, migrate_done_fn done, void *done_arg);
};
extern const struct walk_ops walk_retriever; /* arg: struct migrate_volume */

/* Numbers of directories, by what became of them. */
struct walk_counts {
	uint64_t visited;  /* that were not normal */
	uint64_t pruned;   /* normal when reached */
	uint64_t filled;   /* unfilled before, filled now */
	uint64_t finished; /* normal now */
	uint64_t left; /* not finished in a pass that should finish them; not filled in any pass */
	uint64_t failed; /* of those left: requests that failed with an error, not "again" */
	uint64_t busy;	 /* of those left: the answer was "again" too often */
	int error;	 /* the last such error, -errno */
};

struct walk;

/*
 * root_fd: the volume's root, open for reading; the caller keeps it, and it must outlive the walk.
 * *walk is NULL and -errno returned when the file system cannot be walked; -EOPNOTSUPP: it has no
 * file handles.
 */
int walk_new(int root_fd, const struct walk_ops *ops, void *arg, struct walk **walk);
/* No request may be under way any more: call migrate_volume_free(), within which they complete,
 * first. */
void walk_free(struct walk *walk);

/* Begins a pass.  flags: of migrate_fill_directory(); with MIGRATE_DATA directories are finished,
 * too. */
void walk_begin(struct walk *walk, unsigned flags);
/*
 * A pass that brings names, and the data of files that were changed or read, as their times
 * have it, at `since` or later (seconds since 1970; now_s: the time).  Where nearly all were read
 * since then, by a backup say, that tells nothing, and the changes alone count.
 */
void walk_begin_recent(struct walk *walk, int64_t since, int64_t now_s);
/* The newest time of a file that such a pass has left out; 0: it has left out none. */
int64_t walk_left_out(const struct walk *walk);
/*
 * Of what the paths (sorted, see paths.h) lead to alone, and of its data with what
 * migrate_fill_since() brings; the directories that lead there are filled, and none is finished.
 * done: these n paths are done (status 0), or failed (-errno; -EREMOTEIO:
 * something of it did, which the retriever lists).
 */
typedef void (*walk_path_fn)(void *arg, const char *const *paths, unsigned n, int status);
void walk_begin_paths(struct walk *walk, unsigned flags, int64_t since, const GPtrArray *paths,
		      walk_path_fn done, void *arg);
/*
 * Does what can be done now: takes up answers and makes new requests, with up to window fills under
 * way, and some requests to finish besides (window 0: makes no request).  now_ms: a clock that only
 * goes forward.  Returns after how many milliseconds it has to be called again; -1: when a request
 * is done.
 */
int walk_step(struct walk *walk, unsigned window, int64_t now_ms);
/* Whether the pass is over. */
bool walk_over(const struct walk *walk);
const struct walk_counts *walk_counts(const struct walk *walk);

#endif
