/* SPDX-License-Identifier: GPL-3.0-or-later */
/* migratectl retry: forgetting failures. */
#ifndef RETRIEVER_VOLUME_RETRY_H
#define RETRIEVER_VOLUME_RETRY_H

#include "retriever/data/version.h"
#include "retriever/objects/errors_entry.h"

/*
 * Takes what the filter (or NULL: anything) lets through from the list of errors and clears the
 * marks in the records.  A file that was changed or replaced on the old server since its stub was
 * made is made a stub of what is there now, unless clients have changed its content here
 * (version.h).  One that still cannot be had, or was changed on both sides, stays as it is and
 * listed, and so does all that is left when the retriever is closed.  Slow thread; waits for the
 * old server.  0, with how many were tried in *text (g_free).
 */
int retry_all(struct retriever *retriever, const struct errors_filter *filter,
	      enum version_trust trust, char **text);

#endif
