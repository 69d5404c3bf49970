/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the backends share among themselves.  Locks in backends are pthread ones: the thread
 * sanitizer does not see through GLib's.
 */
#ifndef LIB_SOURCE_BACKEND_H
#define LIB_SOURCE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/source/source.h"

/* Seconds without an answer while somebody waits, for ops->away.  Any thread. */
struct backend_watch {
	atomic_uint waiting;
	_Atomic gint64 since, answered; /* g_get_monotonic_time() */
};
void backend_watch_begin(struct backend_watch *watch);
void backend_watch_end(struct backend_watch *watch);
void backend_watch_answer(struct backend_watch *watch, gint64 now);
unsigned backend_watch_away(struct backend_watch *watch);

/* A backend in front of another one, which it asks about everything that is no request. */
struct backend_layer {
	struct backend base;
	struct backend *inner;
};
uint32_t backend_layer_max_read(struct backend *backend);
unsigned backend_layer_away(struct backend *backend);
unsigned backend_layer_carries(struct backend *backend);
char *backend_layer_not_carried(struct backend *backend);

static inline bool backend_is_waited_for(const struct backend_request *req)
{
	return req->priority != BACKEND_BACKGROUND;
}

/* Clears what comes out of a request, at submit. */
void backend_prepare(struct backend_request *req);
/* Frees what came out of it. */
void backend_forget(struct backend_request *req);
/* Sets the status, frees half a result of a failed one, calls done. */
void backend_complete(struct backend_request *req, int status);

#endif
