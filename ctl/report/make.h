/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the files of a final report.  They are written beside their places, and come there when all
 * are written and durable, the JSON and its signature last: who reads some of two reports is told
 * so by `report --check`.
 */
#ifndef CTL_REPORT_MAKE_H
#define CTL_REPORT_MAKE_H

#include "ctl/report/final.h"
#include "lib/report/manifest/sorter.h"

/*
 * Into dir_fd, called by the volume: all that sorter has becomes the manifest, is counted and
 * listed in final, and final is written.  key: what the JSON is signed with (sign.h), or NULL.
 * Blocks. FALSE with error set: then a report that was there is as it was, unless it is their
 * renaming that failed.
 */
gboolean report_make(struct final *final, int dir_fd, struct proof_sorter *sorter, const char *key,
		     GError **error);

#endif
