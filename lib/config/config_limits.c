/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config_limits.h"

#include <stddef.h>
#include <string.h>

#include "lib/config/calendar.h"
#include "lib/config/config_file.h"
#include "lib/config/nfs_url.h"
#include "lib/config/smb_url.h"

#define NODES_MAX 64

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

static gboolean parse_nodes(void *field, const struct config_place *at, GError **error)
{
	guint64 nodes;

	if (!g_ascii_string_to_unsigned(at->value, 10, 1, NODES_MAX, &nodes, NULL))
		return config_wrong(error, at, "no number of nodes, 1 to %u", NODES_MAX);
	*(unsigned *)field = (unsigned)nodes;
	return TRUE;
}

static const struct server_key {
	const char *name;
	size_t offset;
	gboolean (*parse)(void *field, const struct config_place *at, GError **error);
} server_keys[] = {
	{"bandwidth", offsetof(struct server_config, bandwidth), config_parse_bandwidth},
	{"requests", offsetof(struct server_config, requests), config_parse_requests},
	{"limits", offsetof(struct server_config, limits), config_parse_limits},
	{"nodes", offsetof(struct server_config, nodes), parse_nodes},
};

bool config_is_server_key(const char *name)
{
	bool found = false;

	for (size_t i = 0; i < G_N_ELEMENTS(server_keys); i++)
		found = found || !strcmp(server_keys[i].name, name);
	return found;
}

/* Computes this node's part.  As 0 means no limit, no limit may become 0. */
static bool divide(struct server_config *server)
{
	const unsigned nodes = server->nodes;

	if ((server->bandwidth && server->bandwidth < nodes) ||
	    (server->requests && server->requests < nodes) ||
	    (server->limits && !calendar_divide(server->limits, nodes)))
		return false;
	server->bandwidth /= nodes;
	server->requests /= nodes;
	return true;
}

static gboolean parse_server(const char *file, GKeyFile *parsed, const char *group,
			     struct server_config *server, GError **error)
{
	const struct config_place nodes = {file, group, "nodes", NULL};

	server->host = g_strdup(group + strlen(CONFIG_SERVER));
	server->nodes = 1;
	for (size_t i = 0; i < G_N_ELEMENTS(server_keys); i++) {
		const struct server_key *key = &server_keys[i];
		g_autofree char *value = config_file_value(parsed, group, key->name);
		const struct config_place at = {file, group, key->name, value};

		if (value && !key->parse((char *)server + key->offset, &at, error))
			return FALSE;
	}
	return divide(server) ||
	       config_wrong(error, &nodes,
			    "a limit is less than the number of nodes, so that none "
			    "is left for each; make it larger");
}

/* A cap that limits no volume is a mistake: the server would not be spared. */
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
