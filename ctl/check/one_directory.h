/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One directory of the pass over the source (walk.h). */
#ifndef CTL_CHECK_ONE_DIRECTORY_H
#define CTL_CHECK_ONE_DIRECTORY_H

#include "ctl/check/walk.h"

/* Lists the directory, counts and judges its entries, and adds the directories among them to the
 * frontier.  Blocks for the old server. */
void one_directory_run(struct walk *walk, const struct directory *directory);

#endif
