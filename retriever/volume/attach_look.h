/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What attach refuses of a root, told by looking alone. */
#ifndef RETRIEVER_VOLUME_ATTACH_LOOK_H
#define RETRIEVER_VOLUME_ATTACH_LOOK_H

#include <stdbool.h>

/*
 * Whether the root, with what is in it if that is to be adopted (attach --adopt), can be taken as
 * it is.  root_fd: O_RDONLY | O_DIRECTORY; root: its path, for the message.  Changes nothing.  0,
 * or -errno with *message, one line that says what to do (g_free): -EPERM for a flag that forbids
 * it, -EEXIST for a private directory that is not a volume's, -EBUSY for a mount.  Blocks for the
 * disk.
 */
int attach_look(int root_fd, const char *root, bool adopt, char **message);

#endif
