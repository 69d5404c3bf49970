/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source_acl.h"

#define EMPTY_LEN 4 /* of the format's header */

void backend_acl_lose(struct source_xattrs *xattrs, bool is_default, const char *why)
{
	source_xattrs_lose(xattrs, "%s: %s", is_default ? "default ACL" : "ACL", why);
	xattrs->acl_lost |= !is_default;
}

void backend_acl_add(struct source_xattrs *xattrs, bool is_default, const uint8_t *value,
		     uint32_t len)
{
	const char *name = is_default ? XATTR_ACL_DEFAULT : XATTR_ACL_ACCESS;
	struct acl *acl = acl_decode(value, len);
	g_autofree uint8_t *ordered = NULL;

	if (!acl && len != EMPTY_LEN)
		backend_acl_lose(xattrs, is_default, "the old server's is none that acl(5) allows");
	/* Three entries are the mode's. */
	if (acl && (is_default || acl->entries->len > 3)) {
		ordered = acl_encode(acl, &len);
		source_xattrs_add(xattrs, name, ordered, len);
	}
	acl_free(acl);
}
