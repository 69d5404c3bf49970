/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * REPORT_DIR/NAME.attached: a note that this machine has the unfinished volume NAME, and its root.
 * It protects a volume whose group is not in the configuration any more, or whose file system is
 * not mounted: the package is not removed, file servers do not start on the empty directory, and
 * the guard refuses what is unfinished.
 *
 * It is written after the root's record, and removed last (finalize, abandon).  So whoever sees a
 * note and no volume in its root knows that the file system is not there.  Before finalize removes
 * .migrate/ it writes into the note that the volume ends: from then on the note counts only while
 * the root has .migrate/.  A crash leaves no note of a volume that was just attached, which the
 * retriever mends when it starts; a note that says that it ends, which the retriever removes then;
 * or that of an abandoned volume, which goes when the command is given again.  Only volumes of
 * CONFIG_FILE have one, and none that a cluster has: its file system is at home on several nodes.
 */
#ifndef LIB_CONFIG_ATTACHED_H
#define LIB_CONFIG_ATTACHED_H

#include "lib/config/volume_config.h"

/* What is said of one whose group is missing, with its root twice. */
#define ATTACHED_FORGOTTEN                                                                         \
	"no such group, but %s was attached under this name, and is not finished: put the group "  \
	"back; its source is in %s/.migrate/source"

/* Writes or removes the note.  Blocks for the disk.  0 or -errno. */
int attached_note(const struct volume_config *config, bool attached);
/* Writes into the note that the volume is whole, and that .migrate/ goes.  Blocks for the disk.  0
 * or -errno. */
int attached_note_end(const struct volume_config *config);
/* The root of a volume that has a note which counts, or NULL.  g_free. */
char *attached_root(const char *name);
/* Adds the volumes that have a note, and are not in the list of config_names() with this root;
 * NULL: an empty one.  Returns the list. */
GPtrArray *attached_add(GPtrArray *names);
/* What the guard needs, of a volume that has a note; or NULL. */
struct volume_config *attached_config(const char *name);

#endif
