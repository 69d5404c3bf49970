/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a listing of a directory could not make, name by name, for the list of errors (I12).
 *
 * A name that was listed and is not found by a second question may have vanished in between; or the
 * old server does not know it by what it calls it (an SMB server that tells names by other
 * characters than it takes).  So the directory is listed once more: what is listed again and not
 * found again is an error.
 *
 * Of the names that nothing can have here a directory lists NAME_ERRORS_LISTED and then says how
 * many more there are: they may be as many as an old server makes up.  What the administrator gives
 * up of what cannot be here ever (skip_names.h) is no error.  Any thread.
 */
#ifndef RETRIEVER_NAMES_NAME_ERRORS_H
#define RETRIEVER_NAMES_NAME_ERRORS_H

#include "lib/source/source.h"
#include "retriever/names/skip_names.h"
#include "retriever/objects/retriever.h"

#define NAME_ERRORS_LISTED 100

/* -ENOENT for what was listed; -ENOTUNIQ, source.h */
#define NAME_MISSING                                                                               \
	"the old server lists this name and does not find it: rename it there, then retry; or "    \
	"skip it: migratectl skip"
#define NAME_OF_ANOTHER                                                                            \
	"the old server opens another object by this name, most likely one whose name differs "    \
	"in upper and lower case only: rename one of them there, then retry; or skip it: "         \
	"migratectl skip"

/* -EEXIST */
#define NAME_TAKEN                                                                                 \
	"another object has this name here: the new server's file system may not tell names by "   \
	"upper and lower case, or the old server has put something else in its place: compare "    \
	"both, rename one, then retry; or skip it: migratectl skip"

#define NAME_FOREIGN                                                                               \
	"a program of this machine has made a directory of this name here, which hides the old "   \
	"server's: move it out of the volume, then retry; or leave it in that one's place: "       \
	"migratectl skip"

struct name_errors {
	struct errors *errors;
	int dir_fd;
	GMutex lock;
	int status;	  /* of the first that counts, -errno; 0: none */
	guint refused;	  /* that are listed */
	guint64 more;	  /* that are not */
	GHashTable *gone; /* names that were listed and not found */
	GArray *left_out; /* listing_sum_hash() of names that need not be here all the same */
	bool again;	  /* it is the second listing */
	struct skip_names *skip; /* referenced; NULL: nothing is skipped */
};

void name_errors_init(struct name_errors *failed, struct errors *errors, int dir_fd);
void name_errors_clear(struct name_errors *failed);
/* The listing begins anew. */
void name_errors_reset(struct name_errors *failed);

/* Why an object could not be made here. */
const char *name_not_made(int status);
/* reason NULL: it is nobody's fault (-ECANCELED). */
void name_errors_add(struct name_errors *failed, const char *name, int status, const char *reason);
/* Likewise, where it is the old server that refuses to tell of it. */
void name_errors_add_refusal(struct name_errors *failed, const char *name, int status,
			     const char *reason);
/* It was listed and need not be here. */
void name_errors_leave_out(struct name_errors *failed, const char *name);
/* Those of a page. */
void name_errors_add_refused(struct name_errors *failed, const struct backend_batch *batch);
/* At the end of a listing: whether there has to be a second. */
bool name_errors_listed(struct name_errors *failed);

#endif
