/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/smb_url.h"

#include <errno.h>

#include "lib/base/error.h"
#include "lib/config/url.h"

#define URL_FORM "smb://[DOMAIN;]USER@host[:port]/share[/path]"
#define PORT	 445

static gboolean set_url_error(const struct smb_url *url, GError **error, const char *what)
{
	return error_set(error, EINVAL, "%s: %s; write " URL_FORM, url->text, what);
}

/* The message does not show the URL, as its text has the password. */
static gboolean wrong_password(struct smb_url *url, GError **error)
{
	g_free(url->text);
	url->text = g_strdup("smb://...");
	return set_url_error(
		url, error,
		"a password does not belong into a URL: put it into a file and name that "
		"with smb-password-file; an @ in the share or the path is written %40");
}

static gboolean parse_user(struct smb_url *url, const char *text, size_t len, GError **error)
{
	const char *semicolon = memchr(text, ';', len);
	const char *user = semicolon ? semicolon + 1 : text;

	g_autofree char *raw = g_strndup(user, (gsize)(text + len - user));
	g_autofree char *domain = g_strndup(text, semicolon ? (gsize)(semicolon - text) : 0);

	url->user = g_uri_unescape_string(raw, NULL);
	url->domain = g_uri_unescape_string(domain, NULL);
	if (!url->user || !url->domain)
		return set_url_error(url, error,
				     "a percent sign in the user's name is written %25");
	if (strchr(url->user, ':'))
		return wrong_password(url, error);
	if (!*url->user)
		return set_url_error(url, error, "the user has no name");
	return TRUE;
}

static gboolean parse_path(struct smb_url *url, const char *text, GError **error)
{
	g_autofree char *path = url_path(url->text, text, strlen(text), error);
	char *below;

	if (!path)
		return FALSE;
	if (!path[1])
		return set_url_error(url, error, "no share there");
	if (strpbrk(path, "\\:*?\"<>|"))
		return set_url_error(
			url, error,
			"a share or directory with one of \\ : * ? \" < > | in its name");
	below = strchr(path + 1, '/');
	url->share = below ? g_strndup(path + 1, (gsize)(below - path - 1)) : g_strdup(path + 1);
	url->path = g_strdup(below ? below + 1 : "");
	return TRUE;
}

gboolean smb_url_parse(const char *text, struct smb_url *url, GError **error)
{
	const char *user = text + strlen("smb://"), *path = user + strcspn(user, "/?#"), *at,
		   *wrong;

	*url = (struct smb_url){.text = g_strdup(text), .port = PORT};
	if (url_has_password(text))
		return wrong_password(url, error);
	at = g_strrstr_len(user, path - user, "@");
	if (!at)
		return set_url_error(url, error, "no user there");
	if (!parse_user(url, user, (size_t)(at - user), error))
		return FALSE;
	wrong = url_host(at + 1, (gsize)(path - at - 1), &url->host, &url->port);
	if (wrong)
		return set_url_error(url, error, wrong);
	if (*path != '/')
		return set_url_error(url, error, "no share there");
	if (strpbrk(path, "?#"))
		return set_url_error(url, error, "arguments after ? or # are not known here");
	return parse_path(url, path, error);
}

void smb_url_clear(struct smb_url *url)
{
	g_clear_pointer(&url->text, g_free);
	g_clear_pointer(&url->domain, g_free);
	g_clear_pointer(&url->user, g_free);
	g_clear_pointer(&url->host, g_free);
	g_clear_pointer(&url->share, g_free);
	g_clear_pointer(&url->path, g_free);
}
