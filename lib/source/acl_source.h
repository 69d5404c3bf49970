/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decorator: one old server by two protocols (the paper, 4.5).  Everything comes from `main`; with
 * what an object has beside its attributes comes what `windows`, an smb:// backend of the same
 * tree, says of the object of the same path.  Nothing else is asked of it.
 *
 * An object that is not there, or is of another type, is an error (-EREMOTEIO): without its
 * descriptor it must not be shown.
 */
#ifndef LIB_SOURCE_ACL_SOURCE_H
#define LIB_SOURCE_ACL_SOURCE_H

#include "lib/source/source.h"

/* Takes both. */
struct backend *backend_acl_source_new(struct backend *main, struct backend *windows);

#endif
