/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collects the names of one listing of a directory that could not be made, for the list of errors
 * (I12).
 *
 * If a name was listed and a LOOKUP of it finds nothing, the object may have been removed in
 * between, or the old server does not accept the name that it lists (an SMB server that shows names
 * in other characters than it accepts).  So the directory is listed once more: a name that is
 * listed again and again not found is an error.
 *
 * Of the names that no object can have here, the first NAME_ERRORS_LISTED of a directory get an
 * entry each, and one more entry says how many others there are, because an old server may make up
 * any number of names.  A name that can never be here and that the administrator skips
 * (skip_names.h) is no error.  Any thread.
 */
#ifndef RETRIEVER_NAMES_NAME_ERRORS_H
#define RETRIEVER_NAMES_NAME_ERRORS_H

#include "lib/source/source.h"
#include "retriever/names/skip_names.h"
#include "retriever/objects/retriever.h"

#define NAME_ERRORS_LISTED 100

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
enum error_code name_not_made(int status);
/* QM_NONE: no entry is made in the list of errors (-ECANCELED). */
void name_errors_add(struct name_errors *failed, const char *name, int status,
		     enum error_code error);
/* The same where the old server refuses to tell about the object. */
void name_errors_add_refusal(struct name_errors *failed, const char *name, int status,
			     enum error_code error);
/* The name was listed and need not be here. */
void name_errors_leave_out(struct name_errors *failed, const char *name);
/* Adds the refused names of a page. */
void name_errors_add_refused(struct name_errors *failed, const struct backend_batch *batch);
/* At the end of a listing: whether the directory has to be listed a second time. */
bool name_errors_listed(struct name_errors *failed);

#endif
