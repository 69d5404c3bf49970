/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a listing of a directory could not make, name by name, for the list of errors (I12).
 *
 * A name that was listed and is not found by a second question may have vanished in between; or the
 * old server does not know it by what it calls it (an SMB server that tells names by other
 * characters than it takes).  So the directory is listed once more: what is listed again and not
 * found again is an error.
 *
 * Of the names that nothing can have here a directory lists UNMADE_LISTED and then says how many
 * more there are: they may be as many as an old server makes up.  What the administrator gives up
 * of what cannot be here ever (given_up.h) is no error.  Any thread.
 */
#ifndef FAILED_NAMES_H
#define FAILED_NAMES_H

#include "source/source.h"
#include "volume/retriever.h"
#include "given_up.h"

#define UNMADE_LISTED 100

/* -ENOENT for what was listed; -ENOTUNIQ, source.h */
#define UNMADE_MISSING                                                                             \
	"the old server lists this name and does not find it: rename it there, then retry; or "    \
	"give it up: migratectl skip"
#define UNMADE_OTHER                                                                               \
	"the old server opens another object by this name, most likely one whose name differs "    \
	"in upper and lower case only: rename one of them there, then retry; or give it up: "      \
	"migratectl skip"

struct unmade {
	struct errors *errors;
	int dir_fd;
	GMutex lock;
	int status;		   /* of the first that counts, -errno; 0: none */
	guint refused;		   /* that are listed */
	guint64 more;		   /* that are not */
	GHashTable *gone;	   /* names that were listed and not found */
	bool again;		   /* it is the second listing */
	struct given_up *given_up; /* referenced; NULL: nothing is given up */
};

void unmade_init(struct unmade *unmade, struct errors *errors, int dir_fd);
void unmade_clear(struct unmade *unmade);
/* The listing begins anew. */
void unmade_reset(struct unmade *unmade);

/* reason NULL: it is nobody's fault (-ECANCELED). */
void unmade_add(struct unmade *unmade, const char *name, int status, const char *reason);
/* Those of a page. */
void unmade_add_refused(struct unmade *unmade, const struct backend_batch *batch);
/* At the end of a listing: whether there has to be a second. */
bool unmade_listed(struct unmade *unmade);

#endif
