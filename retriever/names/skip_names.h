/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of one directory that the administrator skips (skip.h). */
#ifndef RETRIEVER_NAMES_SKIP_NAMES_H
#define RETRIEVER_NAMES_SKIP_NAMES_H

#include "retriever/objects/retriever.h"

/* What is skipped in one directory.  Any thread. */
struct skip_names;

/* all: skips each listed name that no object can have here, beside the names that are added. */
struct skip_names *skip_names_new(bool all);
struct skip_names *skip_names_ref(struct skip_names *skip);
void skip_names_unref(struct skip_names *skip); /* skip may be NULL */
/* Adds a name, before the object is in use.  name: as in the list of errors (errors.h). */
void skip_names_add(struct skip_names *skip, const char *name);
/* Before the object is in use: skips also each listed name that no object can have here, unless it
 * is one of these, which the list of errors has. */
void skip_names_take_unlisted(struct skip_names *skip, const GPtrArray *listed);
/* Before the object is in use: skips also added names of which the old server refuses to tell;
 * rest: and the part of the listing that it refuses. */
void skip_names_take_refused(struct skip_names *skip, bool rest);
/* Before the object is in use: notes the administrator's own reason; NULL: it is not known. */
void skip_names_because(struct skip_names *skip, const char *text);

/*
 * Whether a name that cannot be here is skipped: then it is left out, and noted.  skip may be NULL:
 * no name is skipped.  shown: the name as the report shows it.
 */
bool skip_names_takes(struct skip_names *skip, int dir_fd, const char *name, const char *shown,
		      enum error_code error);
/* Whether the status says that the old server refuses for good: not an error of the new server or
 * of the network, and not one that may pass. */
bool skip_names_is_refusal(int status);
/* Whether a refusal with that status is skipped. */
bool skip_names_takes_refusal(struct skip_names *skip, int status);
/* Whether the rest of a listing that ended with that status is skipped: then it is noted. */
bool skip_names_takes_rest(struct skip_names *skip, int dir_fd, int status, enum error_code error);
/* Whether n names that the listing does not tell are skipped: then they are noted. */
bool skip_names_takes_untold(struct skip_names *skip, int dir_fd, uint64_t n);
/* The listing begins anew. */
void skip_names_reset(struct skip_names *skip);
/* How many names were left out; the rest of a listing counts as one. */
uint64_t skip_names_count(struct skip_names *skip);
/* Puts the names that were left out into the report and the log; durable after.  Blocks for the
 * disk.  0, or -errno: then the directory must not be marked as filled.  path: that of the
 * directory on the old server, or NULL. */
int skip_names_record(struct skip_names *skip, struct retriever *retriever, const char *path);
/* Puts one object into the report and the log, by its path; the caller calls losses_sync().
 * cause: why it cannot be here.  because may be NULL. */
int skip_names_record_path(struct retriever *retriever, const char *path, const char *cause,
			   enum error_code error, const char *because);
/* Sets aside the objects of these names in the directory's prior copy (prior.h), at prior_fd: they
 * do not count as left over, and cannot be compared.  Where skipped names are not known one by one,
 * everything that is left in the prior directory is set aside.  path: as of aside_put().  0 or
 * -errno. */
int skip_names_put_aside(struct skip_names *skip, struct retriever *retriever, int dir_fd,
			 int prior_fd, const char *path);

#endif
