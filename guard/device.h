/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef GUARD_DEVICE_H
#define GUARD_DEVICE_H

#include <stdbool.h>

/* Whether both are on one file system, whatever is mounted of it where; also where that cannot be
 * told. */
bool device_is_shared(const char *path, const char *other);

/* The device of the file system, "8:1", which of btrfs is not that of its objects: proc(5),
 * mountinfo; g_free.  NULL: it is not known. */
char *device_of(const char *path);

#endif
