/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a volume's journal: what it knew is removed, and it does not begin again by itself.
 * And its beginning, when a volume is attached.
 */
#ifndef JOURNAL_STORE_CLOSE_H
#define JOURNAL_STORE_CLOSE_H

#include <glib.h>
#include <stdbool.h>

/*
 * Closes the journal in dir, whose process, if there is one, is ended and waited for.  Safe to be
 * done again after a crash.  false with *error, one line: JOURNAL_ERROR, ENOENT where there is
 * none.
 */
bool journal_close_for_good(const char *dir, GError **error);
bool journal_is_closed(const char *dir);
/* For a new migration of that name. */
bool journal_reopen(const char *dir, GError **error);
/* A volume was attached: what is known of before is forgotten, by the process if there is one, and
 * one that was closed may begin again.  Blocks, a minute at most.  false with *error, one line. */
bool journal_begin_anew(const char *dir, GError **error);

#endif
