/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was found, a page at a time. */
#ifndef RETRIEVER_COMPARE_FINDINGS_H
#define RETRIEVER_COMPARE_FINDINGS_H

#include <glib.h>

/* Of the run under way in dir_fd or, if there is none, the last: [finding N] and [list] as of
 * control.h, from the entries' byte `start` on.  Nothing is found where dir_fd is negative.  Blocks
 * for the disk. */
void findings_list(int dir_fd, guint64 start, GKeyFile *f);

#endif
