/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_INFO_H
#define LIB_SOURCE_SMB_WORKER_INFO_H

#include "lib/source/smb/worker/chain.h"

/* Out of a step that asked for FileAllInformation; FALSE: it makes no sense. */
bool info_get_all(struct chain *chain, unsigned step, const char *path, struct wire_attr *attr);
/* A server without file numbers (0 or -1): one made of the path and the time of creation, which
 * tells two objects apart that it finds by one name. */
bool info_has_number(const struct wire_attr *attr);
void info_make_number(struct wire_attr *attr, const char *path);

#endif
