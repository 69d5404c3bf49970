/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_DESCRIBE_H
#define CTL_DISCOVER_DESCRIBE_H

#include <json-glib/json-glib.h>

#include "ctl/discover/inventory.h"

/* What discover found, as text for people, without the notes.  g_free. */
char *describe_text(const char *host, const struct inventory *found);
/* The same for machines, with the notes.  json_node_unref. */
JsonNode *describe_json(const char *host, const struct inventory *found);

#endif
