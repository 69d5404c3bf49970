/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say who is who, and what goes with which kind of source. */
#ifndef LIB_CONFIG_CONFIG_IDS_H
#define LIB_CONFIG_CONFIG_IDS_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

/* Parsers of keys, of which each fills in its field of the configuration: map-sids; sid-users and
 * sid-groups; default-owner, of which field is the first of three. */
gboolean config_parse_sids(void *field, const struct config_place *at, GError **error);
gboolean config_parse_sid_ids(void *field, const struct config_place *at, GError **error);
gboolean config_parse_default_owner(void *field, const struct config_place *at, GError **error);

/* The id of this host for an id of the old server.  For OWNER_NONE (unknown here) it is
 * default-owner's. */
uint32_t config_owner(const struct volume_config *config, bool group, uint32_t id);

/* Whether security descriptors say what clients may do, and the mode does not. */
bool config_descriptors_decide(const struct volume_config *config);

/* Whether two smb:// URLs name one user, however they write him. */
bool config_same_user(const char *a, const char *b);

/* What holds between keys of SMB sources and others, once all are read. */
gboolean config_check_smb(const struct volume_config *config, const char *file, const char *group,
			  GError **error);

#endif
