/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_EXPORTS_FILE_H
#define CTL_DISCOVER_EXPORTS_FILE_H

#include "ctl/discover/inventory.h"

/*
 * Reads a file like /etc/exports of Linux (exports(5)): paths, clients, and of the options ro, rw,
 * root_squash, no_root_squash, all_squash, anonuid, anongid and sec.  Its rules replace those that
 * MOUNT told.  Lines that are not understood become notes, with their numbers.  FALSE with error
 * set: it cannot be read.
 */
gboolean exports_file_read(const char *file, struct inventory *found, GError **error);

#endif
