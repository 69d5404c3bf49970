/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Security identifiers (MS-DTYP 2.4.2), and their maps in the configuration: `map-sids` maps SIDs
 * of the old server to SIDs of the new one, `sid-users` and `sid-groups` map SIDs to ids of users
 * and groups here.
 *
 * A map is a list of FROM:TO, separated by blanks, commas or newlines.  FROM is a SID, or a SID and
 * "-*", which stands for all SIDs with one more part.  In map-sids TO has the same form as FROM,
 * and the last part is kept.  In maps to ids TO is a number, to which the last part is added.  An
 * entry for one SID counts more than one with "-*".  "#" begins a comment.  A map that begins with
 * "/" is the path of a file that holds it.
 *
 * Several old SIDs may become one: each entry of an ACL still says what it said.
 */
#ifndef LIB_CONFIG_SIDS_H
#define LIB_CONFIG_SIDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SID_PARTS 15
#define SID_MAX	  (8 + 4 * SID_PARTS)

struct sid {
	uint8_t len; /* bytes used, 8 + 4 for each part; 0: none */
	uint8_t bytes[SID_MAX];
};

/* The SID that `bytes` begin with.  FALSE: they are not a SID, or it does not end within len. */
bool sid_read(const uint8_t *bytes, uint32_t len, struct sid *sid);
bool sid_parse(const char *text, struct sid *sid);
/* "S-1-5-21-..."; g_free. */
char *sid_text(const struct sid *sid);
bool sid_equal(const struct sid *a, const struct sid *b);
/* Whether it is S-1-AUTHORITY-FIRST, S-1-AUTHORITY-FIRST-SECOND. */
bool sid_is(const struct sid *sid, uint8_t authority, uint32_t first);
bool sid_is_two(const struct sid *sid, uint8_t authority, uint32_t first, uint32_t second);

struct sid_map;

/* NULL with error set: what is wrong, without where.  ids: TO is a number. */
struct sid_map *sid_map_parse(const char *text, bool ids, GError **error);
/* The map from SIDs of the new server to those of the old one; if several old SIDs became one, to
 * one of them.  NULL for NULL. */
struct sid_map *sid_map_reverse(const struct sid_map *map);
void sid_map_free(struct sid_map *map);

/* FALSE: the SID is kept.  map NULL: all SIDs are. */
bool sid_map_find(const struct sid_map *map, const struct sid *sid, struct sid *to);
/* FALSE: no id is known.  Beside what the map says, the SIDs by which Samba names users (group:
 * groups) of this host are known: S-1-22-1-UID and S-1-22-2-GID. */
bool sid_id(const struct sid_map *map, const struct sid *sid, bool group, uint32_t *id);
/* Turn S-1-22-1-UID (group: S-1-22-2-GID), by which Samba names an id of the old server, into the
 * SID of the id here, and back.  Other SIDs are left alone. */
void sid_renumber(const struct sid_map *map, bool group, struct sid *sid);
void sid_renumber_back(const struct sid_map *map, bool group, struct sid *sid);

#endif
