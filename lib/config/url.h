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
 * Parses the host part of a URL: host, host:port, [v6] or [v6]:port.  *host is without brackets;
 * *port is left alone if text has no port.  NULL, or what is wrong with the text; then *host is
 * NULL.
 */
const char *url_host(const char *text, gsize len, char **host, uint16_t *port);

/*
 * Whether the URL may have a password: a colon in the part of user and host, and an "@" anywhere
 * behind it, as a password may have any character.  "user@host:445/share@x" looks like that, too;
 * with %40 in the path it does not.
 */
bool url_has_password(const char *url);
/* For messages: the URL, or only its scheme if it may have a password.  g_free. */
char *url_shown(const char *url);

#endif
