/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The permission bits that NFS clients and local users see of an object that has a security
 * descriptor.  They are a shadow of it, and may never be longer: nobody has more by them than by
 * the descriptor.
 *
 * - The owner's bits come from entries for the owner and for "owner rights", the group's from those
 *   for the group, and everybody's from those for Everyone, Authenticated Users, Network and
 *   BUILTIN\Users, which the owner and the group have too.
 * - An entry that denies counts wherever it stands.  One for the owner counts for him, one for the
 *   group for it and for the owner, any other for all, because any of them may be meant.
 * - What is inherited only, has a condition, or is for another kind of object, grants nothing.
 * - r: read data or list.  w: write and append data, or add files and directories, and there delete
 *   what is in it (delete child, or delete, which is inherited by it).  x: execute or traverse.
 * - Where the owner or the group is nobody here, its bits are everybody's, and an entry that denies
 *   it something counts for all: who it is cannot be told.
 */
#ifndef NT_MODE_H
#define NT_MODE_H

#include <sys/stat.h>

#include "nt_acl.h"

mode_t nt_mode(const struct nt_descriptor *sd, bool directory, bool owner_known, bool group_known);

#endif
