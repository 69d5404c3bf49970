/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migratectl skip: names of the old server that the administrator gives up, because nothing can
 * have them here and they keep their directory unfilled; and what it does not hand over.
 *
 * The directory is listed once more, and that listing decides.  What it can make, it makes; what
 * fails in a way that may pass is never left out.  If everything else that it cannot make is given
 * up, the directory is filled without it, as though a client had removed these names at once; if
 * not, nothing is skipped there.
 *
 * So of a request nothing is kept but its outcome: what was left out is in the report, durable,
 * before the directory's record says FILLED.  A kill before that leaves an unfilled directory whose
 * names are in the list of errors, and lines of the report too many, maybe.
 */
#ifndef RETRIEVER_VOLUME_SKIP_H
#define RETRIEVER_VOLUME_SKIP_H

#include "retriever/objects/retriever.h"

/*
 * The command.  argument: "names PATH", or "all DIRECTORY", and more of them in further lines;
 * paths as they are listed (text_line()).  Instead of paths the lines "reason TEXT" and "below
 * PATH" (errors_entry.h): whatever they let through; the reason is a whole one.  The line "leave":
 * also what the old server refuses, which stays there: names of which it does not tell, the rest of
 * a directory that it does not list, files that it does not let be read (skip_file.h).  The line
 * "because TEXT": for the report.  The line "dry-run": nothing is skipped.
 *
 * Nothing is skipped that is not in the list of errors.  What fails keeps nothing else from being
 * skipped.  Slow thread; waits for the old server.  0 with *text: "[skip] names directories"
 * (dry-run: "[skip] targets", and "[target N] path" for each that is meant, as it is listed, as far
 * as a reply holds); or -errno of the first that failed, with one line that says why.
 */
int skip_command(struct retriever *retriever, const char *argument, char **text);

#endif
