/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of sources' URLs. */
#ifndef LIB_CONFIG_URL_H
#define LIB_CONFIG_URL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The path part of a URL: percent-decoded, with single slashes, absolute, without one at the end.
 * NULL with error set.
 */
char *url_path(const char *url, const char *text, gsize len, GError **error);
/*
 * Its host part: host, host:port, [v6] or [v6]:port.  *host is without brackets; *port is left
 * alone where text has none.  NULL, or what is wrong with it; then *host is NULL.
 */
const char *url_host(const char *text, gsize len, char **host, uint16_t *port);

/*
 * Whether a password may stand in it: an "@" behind the first colon of what begins it, wherever
 * that ends, as a password may have any character.  "user@host:445/share@x" looks so, too: %40 does
 * not.
 */
bool url_has_password(const char *url);
/* For messages: the URL, or its scheme alone if it may have one.  g_free. */
char *url_shown(const char *url);

#endif
