/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directories that a survey has still to list: the last that was found comes first.  Some
 * thousands are in memory, the others in files of a directory of their own, however many there are.
 * One thread at a time.
 *
 * What was kept can be gone on with: files that it names stay until the next is kept, whatever is
 * taken and put meanwhile.
 */
#ifndef CTL_CHECK_FRONTIER_H
#define CTL_CHECK_FRONTIER_H

#include "lib/source/source.h"

struct directory {
	struct source_object object; /* with its path */
	GArray *above; /* of uint64_t: directory_number() of it and of those above it */
};

/* Tells directories apart, also where fileids come again. */
uint64_t directory_number(const uint8_t *handle, uint8_t handle_len,
			  const struct source_attr *attr);
struct directory *directory_new(const char *path, const uint8_t *handle, uint8_t handle_len,
				const struct directory *parent, uint64_t number);
void directory_free(struct directory *directory);

struct frontier;

/* dir_fd: of a directory for the files alone; not taken. */
struct frontier *frontier_new(int dir_fd);
/* Files stay. */
void frontier_free(struct frontier *frontier);

/* Takes directory.  FALSE with error set: the disk has no room; the directory is lost. */
gboolean frontier_put(struct frontier *frontier, struct directory *directory, GError **error);
/* NULL: there is none, or, with error set, a file cannot be read. */
struct directory *frontier_take(struct frontier *frontier, GError **error);
uint64_t frontier_count(const struct frontier *frontier);

/* All of it is on the disk, and named in state. */
gboolean frontier_keep(struct frontier *frontier, GKeyFile *state, GError **error);
/* state is durable: files that only the state before named go. */
void frontier_kept(struct frontier *frontier);
/* Into a new one, of the same dir_fd.  Files that state does not name go. */
gboolean frontier_load(struct frontier *frontier, GKeyFile *state, GError **error);

#endif
