/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question to an old server, asked by a jailed process of its own. */
#ifndef LIB_SOURCE_ASK_H
#define LIB_SOURCE_ASK_H

#include <glib.h>

#define ASK_PROGRAM "migrate-discover"

/* Takes one answer as in say.h, but never "end" or "failed".  FALSE: the answer makes no sense, and
 * the rest is not heard. */
typedef gboolean (*ask_fn)(void *arg, char **fields);

/*
 * Starts program, asks the question, and calls each for every answer that comes.  wait: seconds
 * that the next answer may take; all of them together may take ten times that.  NULL: all was
 * answered; else one line that says why not, without the server's name and safe to print (g_free):
 * the answers before it count.  *lasting (lasting may be NULL) is set if further questions would
 * end in the same way: nobody was there, or nobody answered in time.  Blocks.  The process has
 * ended when it returns.
 */
char *ask(const char *program, const char *const *question, unsigned wait, ask_fn each, void *arg,
	  gboolean *lasting);

/* An address of the host, which is a name or an address; g_free.  NULL with error set, one line.
 * Blocks. */
char *ask_address(const char *host, GError **error);

#endif
