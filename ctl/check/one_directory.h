/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One directory of the pass. */
#ifndef CTL_CHECK_ONE_DIRECTORY_H
#define CTL_CHECK_ONE_DIRECTORY_H

#include "ctl/check/walk.h"

/* Lists it, counts and judges its entries, and puts its directories among what is pending.  Blocks
 * for the old server. */
void one_directory_run(struct walk *walk, const struct directory *directory);

#endif
