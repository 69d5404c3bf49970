/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/url.h"

#include <string.h>

#include "lib/base/error.h"

char *url_path(const char *url, const char *text, gsize len, GError **error)
{
	g_autofree char *raw = g_strndup(text, len);
	g_autofree char *path = g_uri_unescape_string(raw, NULL);
	g_autoptr(GString) clean = g_string_new(NULL);
	g_auto(GStrv) parts = NULL;

	if (!path) {
		error_set(error, EINVAL, "%s: write a percent sign in the path as %%25", url);
		return NULL;
	}
	parts = g_strsplit(path, "/", -1);
	for (char **part = parts; *part; part++) {
		if (!**part)
			continue;
		if (strcmp(*part, ".") == 0 || strcmp(*part, "..") == 0) {
			error_set(error, EINVAL, "%s: write the path without \".\" and \"..\"",
				  url);
			return NULL;
		}
		g_string_append_printf(clean, "/%s", *part);
	}
	if (clean->len == 0)
		g_string_append_c(clean, '/');
	return g_string_free(g_steal_pointer(&clean), FALSE);
}

const char *url_host(const char *text, gsize len, char **host, uint16_t *port)
{
	const char *end = text + len, *from = text, *close, *rest;
	g_autofree char *digits = NULL;
	guint64 number;

	*host = NULL;
	if (len && *text == '[') {
		close = memchr(text, ']', len);
		if (!close)
			return "the address has no closing bracket";
		from++;
		rest = close + 1;
	} else {
		rest = memchr(text, ':', len);
		close = rest = rest ? rest : end;
	}
	if (close == from || (rest < end && *rest != ':'))
		return "no host there";
	for (const char *p = from; p < close; p++)
		if (strchr("[]@;", *p))
			return "no host there";
	if (rest < end) {
		digits = g_strndup(rest + 1, (gsize)(end - rest - 1));
		if (!g_ascii_string_to_unsigned(digits, 10, 1, 65535, &number, NULL))
			return "no port from 1 to 65535 after the colon";
		*port = (uint16_t)number;
	}
	*host = g_strndup(from, (gsize)(close - from));
	return NULL;
}

static const char *behind_scheme(const char *url)
{
	const char *colon = strstr(url, "://");

	return colon ? colon + strlen("://") : url;
}

bool url_has_password(const char *url)
{
	const char *from = behind_scheme(url), *p = from, *close;

	for (; *p && !strchr(":/?#", *p); p++)
		if (*p == '[' && (p == from || p[-1] == '@') && (close = strchr(p, ']')))
			p = close; /* an address, with colons of its own */
	return *p == ':' && strchr(p, '@');
}

char *url_shown(const char *url)
{
	if (!url_has_password(url))
		return g_strdup(url);
	return g_strdup_printf("%.*s...", (int)(behind_scheme(url) - url), url);
}
