/* SPDX-License-Identifier: GPL-3.0-or-later */
/* file:///path: a local or mounted tree. */
#ifndef FILE_SOURCE_H
#define FILE_SOURCE_H

#include "source/source.h"

extern const struct backend_ops backend_file_ops;

#endif
