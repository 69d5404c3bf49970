/* SPDX-License-Identifier: GPL-3.0-or-later */
/* migratectl retry: forgetting failures. */
#ifndef RETRY_H
#define RETRY_H

#include "retriever.h"

/*
 * Empties the list of errors and clears the marks in the records.  A file that was changed on the
 * old server since its stub was made, and that no client has touched here, is made a stub of the
 * new version: all of it is missing again.  One that was changed on both sides stays as it is,
 * listed. Slow thread.  *text: a line that says how many.
 */
int retry_all(struct retriever *retriever, char **text);

#endif
