/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config_limits.h"

#include <string.h>

#include "calendar.h"
#include "config_file.h"
#include "source/nfs/nfs_url.h"
#include "source/smb/smb_url.h"

gboolean config_parse_bandwidth(void *field, const struct config_place *at, GError **error)
{
	if (config_parse_size(at->value, field))
		return TRUE;
	return config_wrong(
		error, at,
		"no number of bytes per second; write for example 50M, or 0 for no limit");
}

gboolean config_parse_requests(void *field, const struct config_place *at, GError **error)
{
	if (calendar_parse_requests(at->value, field))
		return TRUE;
	return config_wrong(error, at,
			    "no number of requests per second; write for example 500, or 0 for no "
			    "limit");
}

gboolean config_parse_limits(void *field, const struct config_place *at, GError **error)
{
	g_autoptr(GError) inner = NULL;
	struct calendar **calendar = field;

	*calendar = calendar_parse(at->value, &inner);
	return *calendar || config_wrong(error, at, "%s", inner->message);
}

char *config_host(const char *source)
{
	struct nfs_url nfs;
	struct smb_url smb;
	char *host = NULL;

	if (source && g_str_has_prefix(source, "nfs://")) {
		if (nfs_url_parse(source, &nfs, NULL))
			host = g_strdup(nfs.host);
		nfs_url_clear(&nfs);
	} else if (source && g_str_has_prefix(source, "smb://")) {
		if (smb_url_parse(source, &smb, NULL))
			host = g_strdup(smb.host);
		smb_url_clear(&smb);
	}
	return host;
}

char *config_nfs_path(const char *source)
{
	struct nfs_url url;
	char *path = NULL;

	if (!source || !g_str_has_prefix(source, "nfs://"))
		return NULL;
	if (nfs_url_parse(source, &url, NULL))
		path = g_strdup(url.path);
	nfs_url_clear(&url);
	return path;
}

static gboolean parse_server(const char *file, GKeyFile *parsed, const char *group,
			     struct server_config *server, GError **error)
{
	const struct {
		const char *name;
		void *field;
		gboolean (*parse)(void *field, const struct config_place *at, GError **error);
	} fields[] = {
		{"bandwidth", &server->bandwidth, config_parse_bandwidth},
		{"requests", &server->requests, config_parse_requests},
		{"limits", &server->limits, config_parse_limits},
	};

	server->host = g_strdup(group + strlen(CONFIG_SERVER));
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_autofree char *value = config_file_value(parsed, group, fields[i].name);
		const struct config_place at = {file, group, fields[i].name, value};

		if (value && !fields[i].parse(fields[i].field, &at, error))
			return FALSE;
	}
	return TRUE;
}

/* A cap that nobody is under is a mistake: the server would not be spared. */
static gboolean is_used(GKeyFile *parsed, const char *host)
{
	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);

	for (unsigned i = 0; groups[i]; i++) {
		g_autofree char *source = config_file_value(parsed, groups[i], "source");
		g_autofree char *other = config_host(source);

		if (other && !g_ascii_strcasecmp(host, other))
			return TRUE;
	}
	return FALSE;
}

gboolean config_find_server(const char *file, GKeyFile *parsed, struct volume_config *config,
			    GError **error)
{
	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);
	g_autofree char *host = config_host(config->source);

	for (unsigned i = 0; groups[i]; i++) {
		const struct config_place at = {file, groups[i], NULL, NULL};
		const char *name = groups[i] + strlen(CONFIG_SERVER);

		if (!g_str_has_prefix(groups[i], CONFIG_SERVER))
			continue;
		if (!is_used(parsed, name))
			return config_wrong(error, &at,
					    "no volume has a source there; write the host as it "
					    "stands in their URLs, or remove the group");
		if (host && !g_ascii_strcasecmp(host, name) &&
		    !parse_server(file, parsed, groups[i], &config->server, error))
			return FALSE;
	}
	return TRUE;
}
