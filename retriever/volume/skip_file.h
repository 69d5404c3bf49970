/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Skips a file that is here and whose data the old server does not hand over: the file is removed
 * from the tree, with all its names, and stays on the old server.  So no client is shown a hole in
 * place of data that never came (I4).
 *
 * Bytes that clients wrote are never skipped: a file that clients have changed is refused.  The
 * file's names have to be in filled directories, or the next fill would make it again.
 *
 * A name is moved to .migrate/aside/ and looked at there before it is removed: a client may have
 * put another object in its place meanwhile.  Such an object is moved back; if the place is taken
 * again by then, it is moved beside it, under another name.  After a kill the report may have a
 * line too many; the file is in the list of errors as before, with fewer names, or one of its names
 * is in aside/, where the next command finds it.  The part of the file that another tool had copied
 * (MIGRATE_REC_ADOPTED) stays in aside/.
 */
#ifndef RETRIEVER_VOLUME_SKIP_FILE_H
#define RETRIEVER_VOLUME_SKIP_FILE_H

#include "retriever/objects/object.h"

/*
 * error: why the file failed; because: the administrator's reason, or NULL.  0 with *names: how
 * many names the file had (0: clients have removed it, or it has become whole).  -EPERM: clients
 * have changed it; -EBUSY: a client changes it now, or a directory of one of its names cannot be
 * filled; else -errno.  On an error *text says why, without the path (g_free).  On the slow thread;
 * waits for the old server and the disk.
 */
int skip_file(struct object *object, enum error_code error, const char *because, unsigned *names,
	      char **text);

/* Takes care of names that a killed skip_file() has left in aside/: a stub is removed, bytes that
 * another tool had copied are set aside as usual.  0 or -errno. */
int skip_file_recover(struct retriever *retriever);

#endif
