/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say who is who, and what becomes of descriptors. */
#include "config_private.h"

#include <string.h>

#include "owners.h"
#include "sids.h"

static gboolean parse_sid_map(struct sid_map **map, bool ids, const struct config_place *at,
			      GError **error)
{
	g_autoptr(GError) inner = NULL;

	*map = sid_map_parse(at->value, ids, &inner);
	if (!*map)
		config_wrong(error, at, "%s", inner->message);
	return *map != NULL;
}

gboolean config_parse_map_sids(struct volume_config *config, const struct config_place *at,
			       GError **error)
{
	return parse_sid_map(&config->map_sids, false, at, error);
}

gboolean config_parse_sid_users(struct volume_config *config, const struct config_place *at,
				GError **error)
{
	return parse_sid_map(&config->sid_users, true, at, error);
}

gboolean config_parse_sid_groups(struct volume_config *config, const struct config_place *at,
				 GError **error)
{
	return parse_sid_map(&config->sid_groups, true, at, error);
}

gboolean config_parse_default_owner(struct volume_config *config, const struct config_place *at,
				    GError **error)
{
	g_auto(GStrv) sides = g_strsplit(at->value, ":", 3);

	if (g_strv_length(sides) == 2 && parse_id(sides[0], &config->default_uid) &&
	    parse_id(sides[1], &config->default_gid))
		return TRUE;
	return config_wrong(error, at, "write UID:GID, numbers from 0 to %u", OWNER_NONE - 1);
}

gboolean config_parse_smb_modes(struct volume_config *config, const struct config_place *at,
				GError **error)
{
	static const char *const words[] = {
		[SMB_MODES_OPEN] = "open", [SMB_MODES_DESCRIPTOR] = "descriptor"};

	return config_take_word((unsigned *)&config->smb_modes, words, G_N_ELEMENTS(words), at,
				error);
}

gboolean config_parse_acl_source(struct volume_config *config, const struct config_place *at,
				 GError **error)
{
	if (!g_str_has_prefix(at->value, "smb://"))
		return config_wrong(error, at,
				    "no known scheme; use smb://user@host[:port]/share[/path]");
	return config_parse_smb_url(&config->acl_source, at, error);
}

/* A key that would mean nothing is one that was meant otherwise. */
static gboolean check_maps(const struct volume_config *config, struct config_place at, bool smb,
			   GError **error)
{
	bool sids = config->map_sids || config->sid_users || config->sid_groups;

	if (smb && (config->map_users || config->map_groups)) {
		at.key = config->map_users ? "map-users" : "map-groups";
		return config_wrong(
			error, &at,
			"an SMB server has no numbers; use map-sids, sid-users and sid-groups");
	}
	if (sids && !smb && !config->acl_source) {
		at.key = config->map_sids    ? "map-sids"
			 : config->sid_users ? "sid-users"
					     : "sid-groups";
		return config_wrong(error, &at,
				    "goes with a source = smb:// or an acl-source only");
	}
	return TRUE;
}

gboolean config_check_smb(const struct volume_config *config, const char *file, const char *group,
			  GError **error)
{
	struct config_place at = {file, group, "smb-modes", NULL};
	bool smb = g_str_has_prefix(config->source, "smb://");

	if (smb && config->smb_modes == SMB_MODES_UNSET)
		return config_wrong(
			error, &at,
			"missing; add smb-modes = open where all clients come through Samba, "
			"else smb-modes = descriptor, see quickmigrate.conf(5)");
	at.key = "acl-source";
	at.value = config->acl_source;
	if (config->acl_source && !g_str_has_prefix(config->source, "nfs://"))
		return config_wrong(error, &at,
				    "goes with a source = nfs:// only; remove the line");
	at.value = NULL;
	return check_maps(config, at, smb, error);
}
