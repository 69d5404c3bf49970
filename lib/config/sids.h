/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Security identifiers (MS-DTYP 2.4.2), and what the configuration says of them: `map-sids` which
 * of the new server each of the old one is, `sid-users` and `sid-groups` which user or group here.
 *
 * A map is a list of FROM:TO, separated by blanks, commas or newlines.  FROM is a SID, or a SID and
 * "-*": whatever has one more part.  TO is for map-sids the same kind of thing; the last part is
 * kept.  For ids it is a number, to which the last part is added.  One SID counts more than "-*".
 * "#" begins a comment.  A map that begins with "/" is the path of a file that holds it.
 *
 * Several old SIDs may become one: an ACL says what it says of each of its entries.
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

/* The SID that `bytes` begin with.  FALSE: none, or it does not end within len. */
bool sid_read(const uint8_t *bytes, uint32_t len, struct sid *sid);
bool sid_parse(const char *text, struct sid *sid);
/* "S-1-5-21-..."; g_free. */
char *sid_text(const struct sid *sid);
bool sid_equal(const struct sid *a, const struct sid *b);
/* Whether it is S-1-AUTHORITY-FIRST, S-1-AUTHORITY-FIRST-SECOND. */
bool sid_is(const struct sid *sid, uint8_t authority, uint32_t first);
bool sid_is_two(const struct sid *sid, uint8_t authority, uint32_t first, uint32_t second);

struct sid_map;

/* NULL with error set: what is wrong, without the place.  ids: TO is a number. */
struct sid_map *sid_map_parse(const char *text, bool ids, GError **error);
/* From the SIDs of the new server to those of the old one; of several one.  NULL for NULL. */
struct sid_map *sid_map_reverse(const struct sid_map *map);
void sid_map_free(struct sid_map *map);

/* FALSE: it is kept.  map: NULL keeps all. */
bool sid_map_find(const struct sid_map *map, const struct sid *sid, struct sid *to);
/* FALSE: no id is known.  Beside what the map says, the SIDs by which Samba names users (group:
 * groups) of this host are known: S-1-22-1-UID and S-1-22-2-GID. */
bool sid_id(const struct sid_map *map, const struct sid *sid, bool group, uint32_t *id);
/* Of S-1-22-1-UID (group: S-1-22-2-GID), which Samba takes for that id: the SID of the id here, and
 * back.  Others are left alone. */
void sid_renumber(const struct sid_map *map, bool group, struct sid *sid);
void sid_renumber_back(const struct sid_map *map, bool group, struct sid *sid);

#endif
