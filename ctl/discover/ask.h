/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question to an old server, asked by a jailed process of its own. */
#ifndef CTL_DISCOVER_ASK_H
#define CTL_DISCOVER_ASK_H

#include <glib.h>

#define ASK_PROGRAM "migrate-discover"

/* One answer as say.h has it; never "end" or "failed".  FALSE: it makes no sense, and the rest is
 * not heard. */
typedef gboolean (*ask_fn)(void *arg, char **fields);

/*
 * Starts program, asks, and calls each for the answers that come; wait: seconds between two of
 * them, and ten times that altogether.  NULL when all was answered; else one line of why not,
 * without the server's name and safe to print (g_free): what was heard before it holds.  *lasting
 * (may be NULL) is set if asking more would end in the same way: nobody was there, or did not
 * answer in time. Blocks.  The process has ended when it returns.
 */
char *ask(const char *program, const char *const *question, unsigned wait, ask_fn each, void *arg,
	  gboolean *lasting);

#endif
