/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the backends share among themselves.  Locks in backends are pthread ones: the thread
 * sanitizer does not see through GLib's.
 */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "source.h"

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

/* One line, code is an errno. */
void backend_set_error(GError **error, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/*
 * The path part of a URL: percent-decoded, with single slashes, absolute, without one at the end.
 * NULL with error set.
 */
char *backend_url_path(const char *url, const char *text, gsize len, GError **error);
/*
 * Its host part: host, host:port, [v6] or [v6]:port.  *host is without brackets; *port is left
 * alone where text has none.  NULL, or what is wrong with it; then *host is NULL.
 */
const char *backend_url_host(const char *text, gsize len, char **host, uint16_t *port);

/* A name as source.h promises it: 1..255 bytes, no '/' or NUL, not "." or "..". */
bool backend_name_ok(const char *name, size_t len);
/* A path below a root that consists of such names. */
bool backend_path_ok(const char *path);

/* Clears what comes out of a request, at submit. */
void backend_prepare(struct backend_request *req);
/* Sets the status, frees half a result of a failed one, calls done. */
void backend_complete(struct backend_request *req, int status);

#endif
