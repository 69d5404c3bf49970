/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_DESCRIBE_H
#define CTL_DISCOVER_DESCRIBE_H

#include <json-glib/json-glib.h>

#include "ctl/discover/inventory.h"

/* What discover found, as text for people, without the notes.  g_free. */
char *describe_text(const char *host, const struct inventory *found);
/* The same for machines, with the notes.  json_node_unref. */
JsonNode *describe_json(const char *host, const struct inventory *found);
/* "ro", "rw" or "". */
const char *describe_access(const struct inventory_rule *rule);
/* "root_squash", "no_root_squash", "all_squash" or "". */
const char *describe_squash(const struct inventory_rule *rule);

#endif
