/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command `errors`: lists failed objects and names, a page at a time (control.h). */
#ifndef RETRIEVER_SOCKET_CONTROL_ERRORS_H
#define RETRIEVER_SOCKET_CONTROL_ERRORS_H

#include "retriever/objects/retriever.h"

/* Removes entries that are not true any more from the list of errors.  0; the caller frees the text
 * with g_free().  Any thread; blocks for the disk. */
int control_errors(struct retriever *retriever, const char *argument, char **text);

#endif
