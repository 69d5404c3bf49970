/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The retriever's MIGRATE_PRIVATE_DIR, which no client sees. */
#ifndef FSAL_MIGRATE_PRIVATE_H
#define FSAL_MIGRATE_PRIVATE_H

#include "fsal_migrate/object.h"

/* Whether dir is the root of its volume. */
bool mg_is_root(const struct mg_object *dir);
/* Whether name is the private directory in dir. */
bool mg_hidden(struct mg_object *dir, const char *name);
/* Whether the private directory is in the root; true also if that cannot be told. */
bool mg_has_private(struct mg_object *root);

#endif
