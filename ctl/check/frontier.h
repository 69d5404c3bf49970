/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directories that a survey has still to list: the one that was found last comes first.  Some
 * thousands of them are in memory, the others in files of a directory of their own, however many
 * there are.  One thread at a time.
 *
 * A later run can go on with a state that was kept: the files that it names stay until the next
 * state is kept, whatever is taken and put meanwhile.
 */
#ifndef CTL_CHECK_FRONTIER_H
#define CTL_CHECK_FRONTIER_H

#include "lib/source/source.h"

struct directory {
	struct source_object object; /* with its path */
	GArray *above; /* of uint64_t: directory_number() of it and of those above it */
};

/* A number that tells directories apart, also if fileids come again. */
uint64_t directory_number(const uint8_t *handle, uint8_t handle_len,
			  const struct source_attr *attr);
struct directory *directory_new(const char *path, const uint8_t *handle, uint8_t handle_len,
				const struct directory *parent, uint64_t number);
void directory_free(struct directory *directory);

struct frontier;

/* dir_fd: of a directory for these files alone; it stays the caller's. */
struct frontier *frontier_new(int dir_fd);
/* Files stay. */
void frontier_free(struct frontier *frontier);

/* Takes directory.  FALSE with error set: the disk has no room; the directory is lost. */
gboolean frontier_put(struct frontier *frontier, struct directory *directory, GError **error);
/* NULL: there is none, or, with error set, a file cannot be read. */
struct directory *frontier_take(struct frontier *frontier, GError **error);
uint64_t frontier_count(const struct frontier *frontier);

/* Writes all of it to the disk, and names its files in state. */
gboolean frontier_keep(struct frontier *frontier, GKeyFile *state, GError **error);
/* Call it when state is durable: removes the files that only the state before named. */
void frontier_kept(struct frontier *frontier);
/* Loads state into a new frontier of the same dir_fd.  Removes the files that state does not
 * name. */
gboolean frontier_load(struct frontier *frontier, GKeyFile *state, GError **error);

#endif
