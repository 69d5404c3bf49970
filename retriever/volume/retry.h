/* SPDX-License-Identifier: GPL-3.0-or-later */
/* migratectl retry: forgets failures, so that failed objects are tried again. */
#ifndef RETRIEVER_VOLUME_RETRY_H
#define RETRIEVER_VOLUME_RETRY_H

#include "retriever/data/version.h"
#include "retriever/objects/errors_entry.h"

/*
 * Takes the entries that the filter lets through (NULL: all) from the list of errors, and clears
 * the errors in the records.  If a file was changed or replaced on the old server since its stub
 * was made, the stub is made anew from the file that is there now, unless clients have changed its
 * content here (version.h).  A file that still cannot be had, or that was changed on both sides,
 * stays as it is and stays listed, and so does everything that is left when the retriever is
 * closed.  Slow thread; waits for the old server.  0, with how many were tried in *text (g_free).
 */
int retry_all(struct retriever *retriever, const struct errors_filter *filter,
	      enum version_trust trust, char **text);

#endif
