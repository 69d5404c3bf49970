/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the files of a final report.  They are written beside their places, and are renamed into
 * them when all are written and durable, the JSON and its signature last: a reader who gets parts
 * of two reports is told so by `report --check`.
 */
#ifndef CTL_REPORT_MAKE_H
#define CTL_REPORT_MAKE_H

#include "ctl/report/final.h"
#include "lib/report/manifest/sorter.h"

/*
 * Makes the report in dir_fd; its files are named after the volume.  Everything that sorter has
 * becomes the manifest, and is counted and listed in final; then final is written.  key: what the
 * JSON is signed with (sign.h), or NULL.  Blocks.  FALSE with error set: an earlier report is as it
 * was, unless the renaming failed.
 */
gboolean report_make(struct final *final, int dir_fd, struct proof_sorter *sorter, const char *key,
		     GError **error);

#endif
