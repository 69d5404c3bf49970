/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps ids of users and groups of the old server to those of the new server: `map-users` and
 * `map-groups` of the configuration.  A map is a list of OLD:NEW and FIRST-LAST:NEW, separated by
 * blanks or commas; a range keeps its order (FIRST is NEW, FIRST+1 is NEW+1, ...).  An id that is
 * not in the map is kept.
 *
 * A map may not turn two old ids into one: their owners could never be told apart again, and an ACL
 * may say different things of them.  So ranges may not overlap, neither the old ones nor the new
 * ones.  An id that is kept may still be the same as one that another id became: owners_is_shared()
 * tells.
 */
#ifndef LIB_CONFIG_OWNERS_H
#define LIB_CONFIG_OWNERS_H

#include "lib/config/parse.h"

struct owners;

/* NULL with error set: what is wrong, without where. */
struct owners *owners_parse(const char *text, GError **error);
void owners_free(struct owners *owners);

/* The new id.  owners NULL: id itself. */
uint32_t owners_map(const struct owners *owners, uint32_t id);
/* The same for an object's owner or group: OWNER_NONE, to which nothing can belong, becomes
 * OWNER_NOBODY. */
uint32_t owners_own(const struct owners *owners, uint32_t id);
/* The old id that becomes id.  FALSE, and *old is id: no old id does; the old id of that number
 * becomes another one. */
bool owners_unmap(const struct owners *owners, uint32_t id, uint32_t *old);
/* Whether id is kept, and another id becomes it, too. */
bool owners_is_shared(const struct owners *owners, uint32_t id);

#endif
