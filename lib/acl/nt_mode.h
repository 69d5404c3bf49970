/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The permission bits that NFS clients and local users see of an object that has a security
 * descriptor.  They are a shadow of it, and may never be longer: nobody has more by them than by
 * the descriptor.
 *
 * - The owner's bits come from entries for the owner and for "owner rights", the group's from those
 *   for the group, and everybody's from those for Everyone, Authenticated Users and Network, which
 *   the owner and the group have too.  BUILTIN\Users are those whom the old server had in it, and
 *   not everybody.
 * - An entry that denies counts wherever it stands.  One for the owner counts for him, one for the
 *   group for it and for the owner, any other for all, because any of them may be meant.
 * - What is inherited only, has a condition, or is for another kind of object, grants nothing.
 * - r: read data or list.  w: write and append data, or add files and directories, and there delete
 *   child or delete.  x: execute or traverse.
 * - A directory in which the group or everybody may not delete what is in it (delete child) is
 *   sticky: what may be deleted by itself, others say than the directory.
 * - Where the owner or the group is nobody here, it has no more than everybody, and an entry that
 *   denies it something counts for all: who it is cannot be told.
 */
#ifndef LIB_ACL_NT_MODE_H
#define LIB_ACL_NT_MODE_H

#include <sys/stat.h>

#include "lib/acl/nt_acl.h"

mode_t nt_mode(const struct nt_descriptor *sd, bool directory, bool owner_known, bool group_known);
/* Whether mode allows somebody less than the descriptor, as far as can be told without knowing who
 * is in which group. */
bool nt_mode_is_less(const struct nt_descriptor *sd, mode_t mode);

/* Whether entries for "owner rights" keep the owner from changing the descriptor.  The owner of a
 * file can always change its mode: he must not own it here then. */
bool nt_owner_is_bound(const struct nt_descriptor *sd);

#endif
