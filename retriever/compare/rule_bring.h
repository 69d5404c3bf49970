/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was left out, and no rule names any more (rule_change.h). */
#ifndef RETRIEVER_COMPARE_RULE_BRING_H
#define RETRIEVER_COMPARE_RULE_BRING_H

#include "retriever/compare/rule_change_state.h"

/* Finds all of it by the lines of the report, and brings it if the rules are to be applied.  Waits
 * for the journal, the old server and the disk.  0 or -errno. */
int rule_bring_all(struct change *c);

#endif
