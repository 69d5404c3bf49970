/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_acl.h"

#include <errno.h>
#include <linux/posix_acl.h>

#include "lib/source/posix_acl.h"

#define WANT_ACCESS	   1u
#define WANT_ACCESS_COUNT  2u
#define WANT_DEFAULT	   4u
#define WANT_DEFAULT_COUNT 8u
#define TYPE_DEFAULT	   0x1000u /* a bit in the types of a default ACL's entries */
#define ENTRY_BYTES	   12u
#define PERM_BITS	   7u
#define NO_TAG		   0xffffu
#define NO_PERM		   0xffu

void nfsacl_encode(struct xdr_out *out)
{
	xdr_put_u32(out, WANT_ACCESS | WANT_ACCESS_COUNT | WANT_DEFAULT | WANT_DEFAULT_COUNT);
}

/*
 * The protocol does not know an ACL of three entries: servers add a mask that says what the group's
 * entry says.
 */
static void drop_made_up_mask(GArray *entries)
{
	const struct acl_entry *group = NULL;
	guint mask = 0;

	for (guint i = 0; i < entries->len; i++) {
		const struct acl_entry *entry = &g_array_index(entries, struct acl_entry, i);

		if (entry->tag == ACL_GROUP_OBJ)
			group = entry;
		else if (entry->tag == ACL_MASK)
			mask = i;
	}
	if (entries->len == 4 && group &&
	    g_array_index(entries, struct acl_entry, mask).tag == ACL_MASK &&
	    g_array_index(entries, struct acl_entry, mask).perm == group->perm)
		g_array_remove_index(entries, mask);
}

static void get_entries(struct xdr_in *in, uint32_t n, GArray *entries)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tag = xdr_get_u32(in) & ~TYPE_DEFAULT, id = xdr_get_u32(in);
		uint32_t perm = xdr_get_u32(in);
		struct acl_entry entry = {.tag = MIN(tag, NO_TAG), .id = id};

		/* Solaris has more bits there. */
		entry.perm = tag == ACL_MASK ? perm & PERM_BITS : MIN(perm, NO_PERM);
		g_array_append_val(entries, entry);
	}
}

static int get_acl(struct source_xattrs *xattrs, bool is_default, bool wanted, struct xdr_in *in)
{
	uint32_t count = xdr_get_u32(in), n = xdr_get_u32(in), len;
	struct acl acl;

	if (in->bad || n != count || n > NFSACL_ENTRIES_MAX ||
	    n > (size_t)(in->end - in->p) / ENTRY_BYTES)
		return -EBADMSG;
	acl.entries = g_array_new(FALSE, FALSE, sizeof(struct acl_entry));
	get_entries(in, n, acl.entries);
	drop_made_up_mask(acl.entries);
	if (wanted && n > 0) {
		g_autofree uint8_t *value = acl_encode(&acl, &len);

		source_xattrs_add_acl(xattrs, is_default, value, len);
	}
	g_array_unref(acl.entries);
	return 0;
}

/* Up to the ACLs. */
static int get_start(struct nfs_view *view, struct xdr_in *in, struct backend_request *req,
		     uint32_t *mask)
{
	int status = nfs_status(xdr_get_u32(in));

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	nfs_get_own_attr(view, in, req);
	*mask = xdr_get_u32(in);
	return in->bad ? -EBADMSG : 0;
}

/*
 * A server that fails to put an object's ACL into a reply: Linux's does for more than some 325
 * entries, and either ends the call with an error of RPC or sends garbage.
 */
static int lose_acl(struct backend_request *req)
{
	g_clear_pointer(&req->xattrs, source_xattrs_free);
	req->xattrs = source_xattrs_new();
	source_xattrs_lose_acl(req->xattrs, false,
			       "the old server fails to tell it (too many entries?)");
	return 0;
}

int nfsacl_decode(struct nfs_view *view, struct backend_request *req, int rpc, struct xdr_in *in)
{
	uint32_t mask;
	bool may_have_default;
	int status = rpc < 0 ? rpc : get_start(view, in, req, &mask);

	if (status == -EBADMSG || rpc == -EREMOTEIO)
		return lose_acl(req);
	/* The program is gone; it was there at open. */
	if (rpc == -EAGAIN || rpc == -ENOTSUP)
		return -EREMOTEIO;
	if (status < 0 && status != -ENOTSUP)
		return status;
	req->xattrs = source_xattrs_new();
	if (status == -ENOTSUP) {
		source_xattrs_lose(req->xattrs, "ACL: the old server has none for this one");
		return 0;
	}
	may_have_default = !req->has_attr || S_ISDIR(req->attr.mode);
	status = get_acl(req->xattrs, false, mask & WANT_ACCESS, in);
	if (status == 0)
		status = get_acl(req->xattrs, true, mask & WANT_DEFAULT && may_have_default, in);
	return status < 0 ? lose_acl(req) : 0;
}

int nfsacl_probe(struct nfs_view *view, struct xdr_in *in)
{
	struct backend_request req = {0};
	uint32_t mask;
	int status = get_start(view, in, &req, &mask);

	if (status < 0)
		return status;
	if (!(mask & WANT_ACCESS) || xdr_get_u32(in) == 0)
		return -ENOTSUP;
	return 0;
}
