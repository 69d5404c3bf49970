/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend_nfs_acl.h"

#include <errno.h>

#include "backend_acl.h"

#define WANT_ACCESS	   1u
#define WANT_ACCESS_COUNT  2u
#define WANT_DEFAULT	   4u
#define WANT_DEFAULT_COUNT 8u
#define TYPE_DEFAULT	   0x1000u /* a bit in the types of a default ACL's entries */
#define ENTRY_BYTES	   12u
#define PERM_BITS	   7u

void nfsacl_encode(struct xdr_out *out)
{
	xdr_put_u32(out, WANT_ACCESS | WANT_ACCESS_COUNT | WANT_DEFAULT | WANT_DEFAULT_COUNT);
}

/*
 * The protocol does not know an ACL of three entries: servers add a mask that says what the group's
 * entry says.
 */
static size_t without_made_up_mask(struct acl_entry *entries, size_t n)
{
	const struct acl_entry *group = NULL, *mask = NULL;

	for (size_t i = 0; i < n; i++)
		if (entries[i].tag == ACL_TAG_GROUP_OBJ)
			group = &entries[i];
		else if (entries[i].tag == ACL_TAG_MASK)
			mask = &entries[i];
	if (n != 4 || !group || !mask || group->perm != mask->perm)
		return n;
	entries[mask - entries] = entries[3];
	return 3;
}

static const char *which(bool is_default)
{
	return is_default ? "default" : "access";
}

static int get_acl(struct source_xattrs *xattrs, bool is_default, bool wanted, struct xdr_in *in)
{
	struct acl_entry entries[NFSACL_ENTRIES_MAX];
	uint32_t count = xdr_get_u32(in), n = xdr_get_u32(in);

	if (in->bad || n != count || n > (size_t)(in->end - in->p) / ENTRY_BYTES)
		return -EBADMSG;
	if (n > NFSACL_ENTRIES_MAX) {
		xdr_skip(in, (size_t)n * ENTRY_BYTES);
		source_xattrs_lose(xattrs, "%s ACL: it has %u entries, and %u are possible",
				   which(is_default), n, NFSACL_ENTRIES_MAX);
		xattrs->acl_lost |= !is_default;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		entries[i].tag = xdr_get_u32(in) & ~TYPE_DEFAULT;
		entries[i].id = xdr_get_u32(in);
		entries[i].perm = xdr_get_u32(in);
		/* Solaris has more bits there. */
		if (entries[i].tag == ACL_TAG_MASK)
			entries[i].perm &= PERM_BITS;
	}
	if (wanted)
		acl_add(xattrs, is_default, entries, without_made_up_mask(entries, n));
	return 0;
}

/* Up to the ACLs. */
static int get_start(const struct nfs_view *view, struct xdr_in *in, bool *has_attr,
		     struct source_attr *attr, uint32_t *mask)
{
	int status = nfs_status(xdr_get_u32(in));

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	*has_attr = nfs_get_post_attr(view, in, attr);
	*mask = xdr_get_u32(in);
	return in->bad ? -EBADMSG : 0;
}

int nfsacl_decode(const struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	uint32_t mask;
	int status = get_start(view, in, &req->has_attr, &req->attr, &mask);
	bool may_have_default;

	if (status < 0 && status != -ENOTSUP)
		return status;
	req->xattrs = source_xattrs_new();
	if (status == -ENOTSUP) {
		source_xattrs_lose(req->xattrs, "ACL: the old server cannot tell it");
		return 0;
	}
	may_have_default = !req->has_attr || S_ISDIR(req->attr.mode);
	status = get_acl(req->xattrs, false, mask & WANT_ACCESS, in);
	if (status == 0)
		status = get_acl(req->xattrs, true, mask & WANT_DEFAULT && may_have_default, in);
	return status;
}

int nfsacl_probe(const struct nfs_view *view, struct xdr_in *in)
{
	struct source_attr attr;
	bool has_attr;
	uint32_t mask;
	int status = get_start(view, in, &has_attr, &attr, &mask);

	if (status < 0)
		return status;
	if (!(mask & WANT_ACCESS) || xdr_get_u32(in) == 0)
		return -ENOTSUP;
	return 0;
}
