/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which limits are in force: as configured, by the calendar (config/calendar.h), or as ordered.
 *
 * What migratectl has ordered and the configuration does not say is a limit, or a pause.  It holds
 * until it is taken back or the volume is finished: .migrate/orders keeps it.  Without a .migrate/,
 * while the volume is neither copied nor attached, memory alone does, and saves it when there is
 * one.
 */
#ifndef RETRIEVER_PROGRESS_LIMITS_SET_H
#define RETRIEVER_PROGRESS_LIMITS_SET_H

#include "retriever/objects/retriever.h"

/* After the gate is there: what is configured or saved comes into force. */
void limits_set_load(struct retriever *retriever);
/* Come into force at once.  Main thread.  bandwidth: bytes a second, 0: no limit. */
void limits_set_throttle(struct retriever *retriever, uint64_t bandwidth);
void limits_set_unthrottle(struct retriever *retriever); /* as it is configured */
void limits_set_pause(struct retriever *retriever, bool pause);
/* Writes down what was not.  Blocks for the disk.  0 or -errno: it is still in force. */
int limits_set_save(struct retriever *retriever);

/* Now and then: the calendar may have another rule.  Main thread. */
void limits_set_tick(struct retriever *retriever);
/* The calendar's rule, or NULL; *until: when there is another one, or 0. */
const struct calendar_rule *limits_set_rule(struct retriever *retriever, time_t *until);

struct limits_set limits_set_get(struct retriever *retriever);
/* Those of the retriever that was open before, in the same process. */
void limits_set_follow(struct retriever *retriever, const struct limits_set *orders);

#endif
