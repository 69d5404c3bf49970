/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migratectl skip: leaves names on the old server that no object can have here, and that keep their
 * directory unfilled; and, if the administrator says so, objects that the old server does not hand
 * over.
 *
 * The directory is listed once more, and that listing decides.  Each entry that can be made is
 * made; an entry that fails in a way that may pass is never left out.  If all other entries are to
 * be skipped, the directory is filled without them, as though a client had removed these names at
 * once; if not, nothing is skipped there.
 *
 * So only the outcome of a command is kept: the names that were left out are in the report,
 * durable, before the directory's record says FILLED.  A kill before that leaves an unfilled
 * directory whose names are in the list of errors, and maybe too many lines in the report.
 */
#ifndef RETRIEVER_VOLUME_SKIP_H
#define RETRIEVER_VOLUME_SKIP_H

#include "retriever/objects/retriever.h"

/*
 * The command.  argument: "names PATH" or "all DIRECTORY", and more paths in further lines; paths
 * as they are listed (text_line()).  Instead of paths there may be the lines "reason TEXT" and
 * "below PATH" (errors_entry.h), for all entries that they let through; TEXT is a whole reason.
 * The line "leave": skips also what the old server refuses, which stays there: names of which it
 * does not tell, the rest of a directory that it does not list, files that it does not let be read
 * (skip_file.h).  The line "because TEXT": for the report.  The line "dry-run": nothing is skipped.
 *
 * Only entries of the list of errors are skipped.  An entry that fails does not keep others from
 * being skipped.  Slow thread; waits for the old server.  0 with *text: "[skip] names directories"
 * (dry-run: "[skip] targets", and "[target N] path" for each target, as it is listed, as many as a
 * reply holds); or -errno of the first that failed, with one line that says why.
 */
int skip_command(struct retriever *retriever, const char *argument, char **text);

#endif
