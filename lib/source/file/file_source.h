/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file:///path: reads an old server's tree that is a local or mounted directory. */
#ifndef LIB_SOURCE_FILE_FILE_SOURCE_H
#define LIB_SOURCE_FILE_FILE_SOURCE_H

#include "lib/source/source.h"

extern const struct backend_ops backend_file_ops;

#endif
