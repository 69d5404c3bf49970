/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What fanotify(7) says with FAN_REPORT_DFID_NAME_TARGET, one event at a time. */
#ifndef JOURNAL_STORE_EVENTS_H
#define JOURNAL_STORE_EVENTS_H

#include <sys/fanotify.h>

#include "journal/store/store.h"

#define EVENTS_MASK                                                                                \
	(FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_MODIFY | FAN_ATTRIB | FAN_CLOSE_WRITE |        \
	 FAN_ONDIR)

struct event {
	uint64_t mask;		       /* several, where the kernel made one of them */
	struct migrate_binding object; /* len 0: unknown */
	struct journal_place from;     /* of RENAME; else where it is.  dir.len 0: not told */
	struct journal_place to;       /* of RENAME */
};

/* bytes: one event, as its length says.  false: it makes no sense, or has handles that are too
 * long. Names point into it. */
bool event_decode(const struct fanotify_event_metadata *bytes, struct event *event);

#endif
