/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which user or group of the new server an id of the old one is: `map-users` and `map-groups` of
 * the configuration.  A map is a list of OLD:NEW and FIRST-LAST:NEW, separated by blanks or commas;
 * a range keeps its order (FIRST is NEW, FIRST+1 is NEW+1, ...).  What is not in it is kept.
 *
 * No two old ids of a map may become one: their owners could not be told apart for ever, and an ACL
 * may say different things of them.  So ranges may not overlap, neither here nor there.  An id that
 * is kept may still be one that another became: owners_is_shared() tells.
 */
#ifndef LIB_CONFIG_OWNERS_H
#define LIB_CONFIG_OWNERS_H

#include "lib/config/parse.h"

struct owners;

/* NULL with error set: what is wrong, without the place. */
struct owners *owners_parse(const char *text, GError **error);
void owners_free(struct owners *owners);

/* NULL maps nothing. */
uint32_t owners_map(const struct owners *owners, uint32_t id);
/* The same for an object's owner or group: OWNER_NONE, which nothing can belong to, becomes
 * OWNER_NOBODY. */
uint32_t owners_own(const struct owners *owners, uint32_t id);
/* The old id that becomes id.  FALSE, and *old is id: none does, and id there becomes another. */
bool owners_unmap(const struct owners *owners, uint32_t id, uint32_t *old);
/* Whether id is kept, and is also what another one became. */
bool owners_is_shared(const struct owners *owners, uint32_t id);

#endif
