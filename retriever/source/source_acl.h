/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ACLs into what a backend hands over. */
#ifndef SOURCE_ACL_H
#define SOURCE_ACL_H

#include "posix_acl.h"
#include "backend.h"

/*
 * In the kernel's format, whose entries are put in order.  Nothing is added for one that says
 * nothing: an empty one, or an access ACL that says no more than a mode.  One that acl(5) does not
 * allow is lost.
 */
void backend_acl_add(struct source_xattrs *xattrs, bool is_default, const uint8_t *value,
		     uint32_t len);
/* There is one that cannot be handed over. */
void backend_acl_lose(struct source_xattrs *xattrs, bool is_default, const char *why);

#endif
