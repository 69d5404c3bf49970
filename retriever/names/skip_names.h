/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of one directory that the administrator gives up (skip.h). */
#ifndef RETRIEVER_NAMES_SKIP_NAMES_H
#define RETRIEVER_NAMES_SKIP_NAMES_H

#include "retriever/objects/retriever.h"

/* What is skipped in one directory.  Any thread. */
struct skip_names;

/* all: whatever the listing says that nothing can have here, beside what is added. */
struct skip_names *skip_names_new(bool all);
struct skip_names *skip_names_ref(struct skip_names *skip);
void skip_names_unref(struct skip_names *skip); /* or NULL */
/* Before it is in use.  name: as in the list of errors (errors.h). */
void skip_names_add(struct skip_names *skip, const char *name);
/* Likewise: also whatever the listing says that nothing can have here. */
void skip_names_take_all(struct skip_names *skip);
/* Likewise: also those of its names, and what of its listing, the old server refuses. */
void skip_names_take_refused(struct skip_names *skip);
/* Likewise: why, in the administrator's words; NULL: they are not known. */
void skip_names_because(struct skip_names *skip, const char *text);

/*
 * Whether a name that cannot be here is skipped: then it is left out, and noted.  skip may be
 * NULL: none is.  shown: what it is called in the report.
 */
bool skip_names_takes(struct skip_names *skip, int dir_fd, const char *name, const char *shown,
		      const char *reason);
/* Whether the old server, which answered with that status, refuses; and not the new server, nor the
 * network, nor for a moment. */
bool skip_names_is_refusal(int status);
/* Whether that is skipped, too. */
bool skip_names_takes_refusal(struct skip_names *skip, int status);
/* Likewise all that the listing, which ended with that status, did not tell; noted, too. */
bool skip_names_takes_rest(struct skip_names *skip, int dir_fd, int status, const char *reason);
/* Likewise n names that the listing does not tell. */
bool skip_names_takes_untold(struct skip_names *skip, int dir_fd, uint64_t n);
/* The listing begins anew. */
void skip_names_reset(struct skip_names *skip);
/* How many were left out; the rest of a listing is one. */
uint64_t skip_names_count(struct skip_names *skip);
/* Puts what was left out into the report and the log; durable after.  Blocks for the disk.  0 or
 * -errno: then the directory must not be called filled.  path: its, on the old server, or NULL. */
int skip_names_record(struct skip_names *skip, struct retriever *retriever, const char *path);
/* Likewise one object, by its path; losses_sync() is the caller's.  because may be NULL. */
int skip_names_record_path(struct retriever *retriever, const char *path, const char *reason,
			   const char *because);
/* What the directory's prior copy (prior.h), at prior_fd, has of these names goes aside: it is not
 * left over, and nobody can compare it.  Where there are more than are told apart, all that is
 * left.  path: as of aside_put().  0 or -errno. */
int skip_names_put_aside(struct skip_names *skip, struct retriever *retriever, int dir_fd,
			 int prior_fd, const char *path);

#endif
