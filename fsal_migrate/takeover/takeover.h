/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `Takeover = "FILE"` in an export's FSAL block: clients that had a directory of the old server
 * mounted go on with its handle, without a remount.  migratectl takeover writes the file.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_H

#include "fsal_migrate/volume.h"

/* While the export is made; file may be NULL.  0, or -EBADMSG after a message. */
int mg_takeover_open(struct mg_export *export, const char *file);
/* Reads the file again if it changed.  In an operation of the export, outside of enter and leave;
 * the host looks up the root of each export before it answers any client. */
void mg_takeover_refresh(struct mg_export *export);
/* For all exports of the volume; the dispatcher's thread calls it now and then. */
void mg_takeover_tick(struct mg_volume *volume);
void mg_takeover_close(struct mg_export *export);
/* When the module goes: puts libntirpc's operations back. */
void mg_takeover_end(void);

#endif
