/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command `errors`: what failed, by page (control.h). */
#ifndef RETRIEVER_SOCKET_CONTROL_ERRORS_H
#define RETRIEVER_SOCKET_CONTROL_ERRORS_H

#include "retriever/objects/retriever.h"

/* What is over by now is forgotten.  0; the text is g_free'd by the caller.  Any thread; blocks for
 * the disk. */
int control_errors(struct retriever *retriever, const char *argument, char **text);

#endif
