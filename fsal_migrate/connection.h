/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A volume's connection to its retriever, and what is found out about the volume while the
 * connection lasts. */
#ifndef FSAL_MIGRATE_CONNECTION_H
#define FSAL_MIGRATE_CONNECTION_H

#include "fsal_migrate/volume.h"

/*
 * The volume for an export of the directory path; starts its connection with the first export.
 * registers: the guard is told before anything in it is opened.
 * 0; -EXDEV: another export of this volume is on another file system; else -errno.
 */
int mg_volume_get(const char *name, const char *socket, const char *path, bool registers,
		  struct mg_volume **volume);
/*
 * Whether nothing of the volume is unfinished, after mg_volume_inspect().  Where only the retriever
 * knows, waits for it a moment.  If it does not answer, no export is refused for this volume, and
 * this process registers when the retriever has said that something is.
 */
bool mg_volume_is_finished(struct mg_volume *volume);
/* Tells the guard, but for what was just said, that this process serves the volume through the
 * layer, and nothing past it.  In the log where it fails. */
void mg_volume_register(struct mg_volume *volume);
/* To be called for every successful get.  The last one closes the connection, and every request
 * completes. */
void mg_volume_put(struct mg_volume *volume);
/*
 * Before the module is unloaded: ends the threads of volumes that still have exports, for example
 * because the host gave up requests.  Afterwards nothing of the module is called.
 */
void mg_volumes_end(void);
/*
 * Whether anything can be unfinished at or below the directory path, and whether path is the
 * volume's root (I5: the volume's root and everything down to path has a record, or nothing at
 * path and below is unfinished).  0, or -errno: -EBADMSG for a damaged record.
 */
int mg_volume_inspect(struct mg_volume *volume, const char *path, bool *is_root);
/* Whether a volume that is not, or presumed, finished lies at, above or below the directory. */
bool mg_volumes_overlap(int fd);

#endif
