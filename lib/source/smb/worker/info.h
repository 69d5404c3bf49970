/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_INFO_H
#define LIB_SOURCE_SMB_WORKER_INFO_H

#include "lib/source/smb/worker/chain.h"

/* Takes attributes out of the answer to a step that asked for FileAllInformation.  FALSE: the
 * answer makes no sense. */
bool info_get_all(struct chain *chain, unsigned step, const char *path, struct wire_attr *attr);
/* Some servers have no file numbers (0 or -1).  info_make_number() makes one of the path and the
 * time of creation, which tells apart two objects that have the same name one after the other. */
bool info_has_number(const struct wire_attr *attr);
void info_make_number(struct wire_attr *attr, const char *path);

#endif
