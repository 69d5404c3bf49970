/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Giving up a file that is here and whose data the old server does not hand over: it goes from the
 * tree, with all its names, and stays on the old server.  Nobody is shown the hole of what never
 * came (I4).
 *
 * What clients wrote is never skipped: a file that they have changed is refused.  Its names have
 * to be in filled directories, or the next fill would make it again.
 *
 * A name is moved to .migrate/aside/ and looked at there before it goes: a client may have put
 * another object in its place meanwhile, which is moved back; or beside it, under another name,
 * where the place is taken once more.  Killed anywhere: the report has a line too many, maybe; the
 * file is listed as before, with fewer names, or one of them is in aside/, from where the next
 * command takes it. What another tool had copied of it (MIGRATE_REC_ADOPTED) stays in aside/.
 */
#ifndef RETRIEVER_VOLUME_SKIP_FILE_H
#define RETRIEVER_VOLUME_SKIP_FILE_H

#include "retriever/objects/object.h"

/*
 * reason: why it failed; because: the administrator's, or NULL.  0 with *names: how many it had
 * (none: clients have removed it, or it has become whole).  -EPERM: clients have changed it;
 * -EBUSY: one changes it now, or a directory of it cannot be filled; else -errno; then *text says
 * it, without its path (g_free).  On the slow thread; waits for the old server and the disk.
 */
int skip_file(struct object *object, const char *reason, const char *because, unsigned *names,
	      char **text);

/* What a kill has left of that in aside/ goes.  0 or -errno. */
int skip_file_recover(struct retriever *retriever);

#endif
