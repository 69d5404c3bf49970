/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command `errors`: what failed, by page (control.h). */
#ifndef CONTROL_ERRORS_H
#define CONTROL_ERRORS_H

#include "volume/retriever.h"

/* What is over by now is forgotten.  0; the text is g_free'd by the caller.  Any thread; blocks for
 * the disk. */
int control_errors(struct retriever *retriever, const char *argument, char **text);

#endif
