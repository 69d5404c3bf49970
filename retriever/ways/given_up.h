/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of one directory that the administrator gives up (skip.h). */
#ifndef GIVEN_UP_H
#define GIVEN_UP_H

#include "volume/retriever.h"

/* What is given up in one directory.  Any thread. */
struct given_up;

/* all: whatever the listing says that nothing can have here, beside what is added. */
struct given_up *given_up_new(bool all);
struct given_up *given_up_ref(struct given_up *given_up);
void given_up_unref(struct given_up *given_up); /* or NULL */
/* Before it is in use.  name: as in the list of errors (errors.h). */
void given_up_add(struct given_up *given_up, const char *name);

/*
 * Whether a name that cannot be here is given up: then it is left out, and noted.  given_up may be
 * NULL: none is.  shown: what it is called in the report.
 */
bool given_up_takes(struct given_up *given_up, int dir_fd, const char *name, const char *shown,
		    const char *reason);
/* Likewise n names that the listing does not tell. */
bool given_up_takes_untold(struct given_up *given_up, int dir_fd, uint64_t n);
/* The listing begins anew. */
void given_up_reset(struct given_up *given_up);
/* How many were left out. */
uint64_t given_up_count(struct given_up *given_up);
/* Puts what was left out into the report and the log; durable after.  Blocks for the disk.  0 or
 * -errno: then the directory must not be called filled. */
int given_up_record(struct given_up *given_up, struct retriever *retriever);
/* What the directory's prior copy (prior.h), at prior_fd, has of these names goes aside: it is not
 * left over, and nobody can compare it.  Where there are more than are told apart, all that is
 * left.  path: as of aside_put().  0 or -errno. */
int given_up_put_aside(struct given_up *given_up, struct retriever *retriever, int dir_fd,
		       int prior_fd, const char *path);

#endif
