/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of sources. */
#ifndef LIB_SCHEMES_H
#define LIB_SCHEMES_H

#include "lib/config/volume_config.h"
#include "lib/source/source.h"

/* The table for a URL's scheme, or NULL with error set naming the schemes there are. */
const struct backend_ops *scheme_find(const char *url, GError **error);

/* The configuration's source, with the descriptors of its acl-source; *root and *attr as
 * backend_ops.open says.  Blocks.  NULL with error set. */
struct backend *scheme_open(const struct volume_config *config, struct source_object *root,
			    struct source_attr *attr, GError **error);

#endif
