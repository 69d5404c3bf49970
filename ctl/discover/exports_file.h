/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_EXPORTS_FILE_H
#define CTL_DISCOVER_EXPORTS_FILE_H

#include "ctl/discover/inventory.h"

/*
 * What a file like /etc/exports of Linux (exports(5)) says: paths, clients, and of the options ro,
 * rw, root_squash, no_root_squash, all_squash, anonuid, anongid and sec.  Its rules take the place
 * of those that MOUNT told.  Lines that are not understood are noted, with their number.  FALSE
 * with error set: it cannot be read.
 */
gboolean exports_file_read(const char *file, struct inventory *found, GError **error);

#endif
