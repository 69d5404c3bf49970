/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of sources. */
#ifndef SCHEMES_H
#define SCHEMES_H

#include "source/source.h"

/* The table for a URL's scheme, or NULL with error set naming the schemes there are. */
const struct backend_ops *scheme_find(const char *url, GError **error);

#endif
