/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config_ids.h"

#include "lib/config/owners.h"
#include "lib/config/sids.h"
#include "lib/config/smb_url.h"

static gboolean parse_sid_map(struct sid_map **map, bool ids, const struct config_place *at,
			      GError **error)
{
	g_autoptr(GError) inner = NULL;

	*map = sid_map_parse(at->value, ids, &inner);
	return *map || config_wrong(error, at, "%s", inner->message);
}

gboolean config_parse_sids(void *field, const struct config_place *at, GError **error)
{
	return parse_sid_map(field, false, at, error);
}

gboolean config_parse_sid_ids(void *field, const struct config_place *at, GError **error)
{
	return parse_sid_map(field, true, at, error);
}

G_STATIC_ASSERT(offsetof(struct volume_config, default_gid) ==
		offsetof(struct volume_config, default_uid) + sizeof(uint32_t));
G_STATIC_ASSERT(offsetof(struct volume_config, default_given) ==
		offsetof(struct volume_config, default_uid) + 2 * sizeof(uint32_t));

gboolean config_parse_default_owner(void *field, const struct config_place *at, GError **error)
{
	g_auto(GStrv) sides = g_strsplit(at->value, ":", 3);
	uint32_t *ids = field;

	ids[2] = 1;
	if (g_strv_length(sides) == 2 && parse_id(sides[0], &ids[0]) && parse_id(sides[1], &ids[1]))
		return TRUE;
	return config_wrong(error, at, "write UID:GID, numbers from 0 to %u", OWNER_NONE - 1);
}

/* A key that would have no effect is refused: the administrator meant something else. */
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

uint32_t config_owner(const struct volume_config *config, bool group, uint32_t id)
{
	if (id == OWNER_NONE && config->default_given)
		return group ? config->default_gid : config->default_uid;
	return owners_own(group ? config->map_groups : config->map_users, id);
}

bool config_descriptors_decide(const struct volume_config *config)
{
	return config->acl_source ||
	       (config->smb_modes == SMB_MODES_OPEN && g_str_has_prefix(config->source, "smb://"));
}

bool config_same_user(const char *a, const char *b)
{
	struct smb_url x, y;

	if (!g_str_has_prefix(a, "smb://") || !g_str_has_prefix(b, "smb://"))
		return false;
	bool same = smb_url_parse(a, &x, NULL) & smb_url_parse(b, &y, NULL) &&
		    !g_ascii_strcasecmp(x.user, y.user);

	smb_url_clear(&x);
	smb_url_clear(&y);
	return same;
}

static gboolean check_rollback(const struct volume_config *config, struct config_place at,
			       GError **error)
{
	at.key = "rollback-source";
	at.value = config->rollback_source;
	if (at.value && config_same_user(config->source, at.value))
		return config_wrong(error, &at,
				    "names the user that `source` names, who is to have no write "
				    "rights; name another one");
	at.key = "rollback-ccache";
	at.value = config->rollback_ccache;
	if (at.value && config->rollback_password_file)
		return config_wrong(error, &at,
				    "rollback-password-file is set too; remove one of them");
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
	if (config->acl_source && config->acl_mode == ACL_MODE_NT)
		return config_wrong(error, &at,
				    "brings security descriptors, as acl-mode = nt does; remove "
				    "one of them");
	if (config->smb && config->smb->password_file && config->smb->ccache) {
		at = (struct config_place){file, group, "smb-ccache", config->smb->ccache};
		return config_wrong(error, &at, "smb-password-file is set too; remove one of them");
	}
	if (config->nfs && config->nfs->keytab && config->nfs->ccache) {
		at = (struct config_place){file, group, "nfs-ccache", config->nfs->ccache};
		return config_wrong(error, &at, "nfs-keytab is set too; remove one of them");
	}
	at.value = NULL;
	return check_rollback(config, at, error) && check_maps(config, at, smb, error);
}
