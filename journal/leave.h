/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lets rows go of what was made and removed again: after a sync of the volume (syncfs(2)), in a
 * thread of its own, because before that a power cut brings the object back, with no row and an old
 * ctime.
 */
#ifndef JOURNAL_LEAVE_H
#define JOURNAL_LEAVE_H

#include "journal/store/store.h"

struct leave;

struct leave *leave_new(int root_fd);
/* Waits for the sync under way. */
void leave_free(struct leave *leave);
/* Before each commit: begins a sync when there is something for it, drops rows when one is done. */
void leave_step(struct leave *leave, struct journal_store *store);

#endif
