/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of a directory as the old server lists them, for clients that were listing it there when
 * they were switched (`takeover = all`). */
#ifndef CONTROL_NAMES_H
#define CONTROL_NAMES_H

#include "volume/retriever.h"

/*
 * argument: HANDLE (hexadecimal) COOKIE VERIFIER.  The text: a line VERIFIER EOF (0 or 1), and one
 * for each name: FILEID COOKIE NAME (hexadecimal).  A page at most, and at most 60 KB.  0 or
 * -errno; -EBUSY: too many ask.  Blocks for the old server.  Any thread.
 */
int control_names(struct retriever *retriever, const char *argument, char **text);

#endif
