/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the files that read the configuration. */
#ifndef CONFIG_PRIVATE_H
#define CONFIG_PRIVATE_H

#include "parse.h"
#include "volume_config.h"

/* Parsers of keys; config_ids.c has those of SIDs and their kin. */
gboolean config_parse_map_sids(struct volume_config *config, const struct config_place *at,
			       GError **error);
gboolean config_parse_sid_users(struct volume_config *config, const struct config_place *at,
				GError **error);
gboolean config_parse_sid_groups(struct volume_config *config, const struct config_place *at,
				 GError **error);
gboolean config_parse_default_owner(struct volume_config *config, const struct config_place *at,
				    GError **error);
gboolean config_parse_smb_modes(struct volume_config *config, const struct config_place *at,
				GError **error);
gboolean config_parse_acl_source(struct volume_config *config, const struct config_place *at,
				 GError **error);

/* config_smb.c: the URL and the log-on of SMB sources. */
gboolean config_parse_smb_url(char **text, const struct config_place *at, GError **error);
gboolean config_parse_password_file(struct volume_config *config, const struct config_place *at,
				    GError **error);
gboolean config_parse_ccache(struct volume_config *config, const struct config_place *at,
			     GError **error);
gboolean config_parse_domain(struct volume_config *config, const struct config_place *at,
			     GError **error);
gboolean config_parse_encryption(struct volume_config *config, const struct config_place *at,
				 GError **error);
gboolean config_parse_signing(struct volume_config *config, const struct config_place *at,
			      GError **error);
void config_free_smb(struct smb_config *smb);

/* What holds between them and the source, once all are read. */
gboolean config_check_smb(const struct volume_config *config, const char *file, const char *group,
			  GError **error);

#endif
