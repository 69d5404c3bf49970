/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Inside common/: loading a record together with what it was checked against. */
#ifndef COMMON_RECORD_IO_H
#define COMMON_RECORD_IO_H

#include <sys/stat.h>

#include "common/record.h"

/* migrate_record_load(), and with 1 the inode's attributes of that moment. */
int migrate_record_load_stat(int fd, struct migrate_record *rec, struct stat *st);
/* migrate_record_load(), and 1 in a snapshot of a btrfs subvolume, too: as it was when that was
 * taken.
 */
int migrate_record_load_snapshot(int fd, struct migrate_record *rec);

#endif
