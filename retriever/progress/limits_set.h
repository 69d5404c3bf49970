/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The limits on background work that are in force: those of the configuration, of its calendar
 * (config/calendar.h), or of a command.
 *
 * migratectl can set a bandwidth limit or a pause in place of the configured ones.  They hold until
 * they are taken back or the volume is finished; .migrate/orders keeps them.  While there is no
 * .migrate/, because the volume is neither copied nor attached, they are in memory alone, and are
 * saved when there is one.
 */
#ifndef RETRIEVER_PROGRESS_LIMITS_SET_H
#define RETRIEVER_PROGRESS_LIMITS_SET_H

#include "retriever/objects/retriever.h"

/* Puts the configured and saved limits into force, after the gate was made. */
void limits_set_load(struct retriever *retriever);
/* These three are in force at once.  Main thread.  bandwidth: bytes a second, 0: no limit. */
void limits_set_throttle(struct retriever *retriever, uint64_t bandwidth);
void limits_set_unthrottle(struct retriever *retriever); /* as it is configured */
void limits_set_pause(struct retriever *retriever, bool pause);
/* Saves limits that were not saved.  Blocks for the disk.  0, or -errno: then they are still in
 * force. */
int limits_set_save(struct retriever *retriever);

/* Now and then: the calendar may have another rule.  Main thread. */
void limits_set_tick(struct retriever *retriever);
/* The calendar's rule, or NULL; *until: when there is another one, or 0. */
const struct calendar_rule *limits_set_rule(struct retriever *retriever, time_t *until);

struct limits_set limits_set_get(struct retriever *retriever);
/* Takes over the limits of the retriever that was open before, in the same process. */
void limits_set_follow(struct retriever *retriever, const struct limits_set *orders);

#endif
