/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is here, and a rule names now (rule_change.h). */
#ifndef RETRIEVER_COMPARE_RULE_LEAVE_H
#define RETRIEVER_COMPARE_RULE_LEAVE_H

#include "retriever/compare/rule_change_state.h"

/* Finds all of it, and sets it aside if the rules are to be applied.  Waits for the journal, the
 * old server and the disk.  0 or -errno. */
int rule_leave_all(struct change *c);

#endif
