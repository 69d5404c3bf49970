/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of one directory that the administrator gives up (skip.h). */
#ifndef RETRIEVER_NAMES_GIVEN_UP_H
#define RETRIEVER_NAMES_GIVEN_UP_H

#include "retriever/objects/retriever.h"

/* What is given up in one directory.  Any thread. */
struct given_up;

/* all: whatever the listing says that nothing can have here, beside what is added. */
struct given_up *given_up_new(bool all);
struct given_up *given_up_ref(struct given_up *given_up);
void given_up_unref(struct given_up *given_up); /* or NULL */
/* Before it is in use.  name: as in the list of errors (errors.h). */
void given_up_add(struct given_up *given_up, const char *name);
/* Likewise: also whatever the listing says that nothing can have here. */
void given_up_take_all(struct given_up *given_up);
/* Likewise: also those of its names, and what of its listing, the old server refuses. */
void given_up_take_refused(struct given_up *given_up);
/* Likewise: why, in the administrator's words; NULL: they are not known. */
void given_up_because(struct given_up *given_up, const char *text);

/*
 * Whether a name that cannot be here is given up: then it is left out, and noted.  given_up may be
 * NULL: none is.  shown: what it is called in the report.
 */
bool given_up_takes(struct given_up *given_up, int dir_fd, const char *name, const char *shown,
		    const char *reason);
/* Whether the old server, which answered with that status, refuses; and not the new server, nor the
 * network, nor for a moment. */
bool given_up_is_refusal(int status);
/* Whether that is given up, too. */
bool given_up_takes_refusal(struct given_up *given_up, int status);
/* Likewise all that the listing, which ended with that status, did not tell; noted, too. */
bool given_up_takes_rest(struct given_up *given_up, int dir_fd, int status, const char *reason);
/* Likewise n names that the listing does not tell. */
bool given_up_takes_untold(struct given_up *given_up, int dir_fd, uint64_t n);
/* The listing begins anew. */
void given_up_reset(struct given_up *given_up);
/* How many were left out; the rest of a listing is one. */
uint64_t given_up_count(struct given_up *given_up);
/* Puts what was left out into the report and the log; durable after.  Blocks for the disk.  0 or
 * -errno: then the directory must not be called filled.  path: its, on the old server, or NULL. */
int given_up_record(struct given_up *given_up, struct retriever *retriever, const char *path);
/* Likewise one object, by its path; report_sync() is the caller's.  because may be NULL. */
int given_up_record_path(struct retriever *retriever, const char *path, const char *reason,
			 const char *because);
/* What the directory's prior copy (prior.h), at prior_fd, has of these names goes aside: it is not
 * left over, and nobody can compare it.  Where there are more than are told apart, all that is
 * left.  path: as of aside_put().  0 or -errno. */
int given_up_put_aside(struct given_up *given_up, struct retriever *retriever, int dir_fd,
		       int prior_fd, const char *path);

#endif
