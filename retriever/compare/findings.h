/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists the findings of a comparison, a page at a time. */
#ifndef RETRIEVER_COMPARE_FINDINGS_H
#define RETRIEVER_COMPARE_FINDINGS_H

#include <glib.h>

/* Adds the findings of the run under way in dir_fd, or of the last run if none is under way:
 * [finding N] and [list] as of control.h, from byte `start` of the entries on.  There are no
 * findings if dir_fd is negative.  Blocks for the disk. */
void findings_list(int dir_fd, guint64 start, GKeyFile *f);

#endif
