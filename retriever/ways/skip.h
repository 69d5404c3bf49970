/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * migratectl skip: names of the old server that the administrator gives up, because nothing can
 * have them here and they keep their directory unfilled.
 *
 * The directory is listed once more, and that listing decides.  What it can make, it makes; what
 * fails in a way that may pass is never left out.  If everything else that it cannot make is given
 * up, the directory is filled without it, as though a client had removed these names at once; if
 * not, nothing is given up there.
 *
 * So of a request nothing is kept but its outcome: what was left out is in the report, durable,
 * before the directory's record says FILLED.  A kill before that leaves an unfilled directory whose
 * names are in the list of errors, and lines of the report too many, maybe.
 */
#ifndef SKIP_H
#define SKIP_H

#include "volume/retriever.h"

/* What is given up in one directory.  Any thread. */
struct skip;

/* all: whatever the listing says that nothing can have here, beside what is added. */
struct skip *skip_new(bool all);
struct skip *skip_ref(struct skip *skip);
void skip_unref(struct skip *skip); /* or NULL */
/* Before it is in use.  name: as in the list of errors (errors.h). */
void skip_add(struct skip *skip, const char *name);

/*
 * Whether a name that cannot be here is given up: then it is left out, and noted.  skip may be
 * NULL: none is.  shown: what it is called in the report.
 */
bool skip_takes(struct skip *skip, int dir_fd, const char *name, const char *shown,
		const char *reason);
/* Likewise n names that the listing does not tell. */
bool skip_takes_untold(struct skip *skip, int dir_fd, uint64_t n);
/* The listing begins anew. */
void skip_reset(struct skip *skip);
/* How many were left out. */
uint64_t skip_count(struct skip *skip);
/* Puts what was left out into the report and the log; durable after.  Blocks for the disk.  0 or
 * -errno: then the directory must not be called filled. */
int skip_record(struct skip *skip, struct retriever *retriever);

/*
 * The command.  argument: "names PATH", or "all DIRECTORY", and more of them in further lines;
 * paths as they are listed (refused_line()).  Nothing is given up that is not in the list of
 * errors. Slow thread; waits for the old server.  0 with *text: "[skip] names directories"; or
 * -errno with one line that says why.
 */
int skip_command(struct retriever *retriever, const char *argument, char **text);

#endif
