/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that map users and groups of the old server to those of this host, and the checks which
 * keys go with which kind of source. */
#ifndef LIB_CONFIG_CONFIG_IDS_H
#define LIB_CONFIG_CONFIG_IDS_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

/* Parsers of keys; each fills in its field of the configuration: map-sids; sid-users and
 * sid-groups; default-owner, of which field is the first of three. */
gboolean config_parse_sids(void *field, const struct config_place *at, GError **error);
gboolean config_parse_sid_ids(void *field, const struct config_place *at, GError **error);
gboolean config_parse_default_owner(void *field, const struct config_place *at, GError **error);

/* The id of this host for an id of the old server.  For OWNER_NONE (unknown here) it is
 * default-owner's. */
uint32_t config_owner(const struct volume_config *config, bool group, uint32_t id);

/* Whether security descriptors, and not modes, decide what clients may do. */
bool config_descriptors_decide(const struct volume_config *config);

/* Whether two smb:// URLs name the same user, in whatever spelling. */
bool config_same_user(const char *a, const char *b);

/* Checks the keys of SMB sources against the others, when all are read. */
gboolean config_check_smb(const struct volume_config *config, const char *file, const char *group,
			  GError **error);

#endif
