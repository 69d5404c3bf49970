/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_acl.h"

#include "lib/base/text.h"

/* FALSE: not whole.  *who: its len bytes. */
static bool get_ace(struct xdr_in *in, struct source_ace4 *ace, const uint8_t **who, uint32_t *len)
{
	ace->type = xdr_get_u32(in);
	ace->flags = xdr_get_u32(in);
	ace->mask = xdr_get_u32(in);
	*who = xdr_get_bytes(in, len);
	return !in->bad;
}

bool nfs4_acl_skip(struct xdr_in *in)
{
	uint32_t n = xdr_get_u32(in), len;
	struct source_ace4 ace;
	const uint8_t *who;

	for (uint32_t i = 0; i < n && !in->bad; i++)
		get_ace(in, &ace, &who, &len);
	return !in->bad;
}

static bool is_text(const uint8_t *who, uint32_t len, const char *text)
{
	return len == strlen(text) && memcmp(who, text, len) == 0;
}

/* Section 6.2.1.5. */
static bool is_special(const uint8_t *who, uint32_t len)
{
	return len > 1 && memchr(who, '@', len) == who + len - 1;
}

/* 0, or as nfs4_owners_id(). */
static int find_who(struct nfs4_owners *owners, bool demand, const uint8_t *who, uint32_t len,
		    struct source_ace4 *ace)
{
	bool group = ace->flags & ACE4_IDENTIFIER_GROUP;
	int ret = 0;

	ace->who = ACE4_WHO_UNKNOWN;
	ace->id = NFS4_NOBODY;
	if (is_text(who, len, "OWNER@"))
		ace->who = ACE4_WHO_OWNER;
	else if (is_text(who, len, "GROUP@"))
		ace->who = ACE4_WHO_GROUP;
	else if (is_text(who, len, "EVERYONE@"))
		ace->who = ACE4_WHO_EVERYONE;
	else if (!is_special(who, len))
		ret = nfs4_owners_id(owners, demand, group, who, len, &ace->id);
	if (ace->id != NFS4_NOBODY)
		ace->who = group ? ACE4_WHO_GROUP_ID : ACE4_WHO_USER_ID;
	return ret;
}

int nfs4_acl_get(struct nfs4_owners *owners, bool demand, struct xdr_in in,
		 struct source_xattrs *xattrs)
{
	uint32_t n = xdr_get_u32(&in), len;
	struct source_ace4 ace = {0};
	const uint8_t *who;
	int ret = 0;

	if (n == 0 || in.bad)
		return 0;
	if (n > NFS4_ACES_MAX) {
		source_xattrs_lose_acl(xattrs, false, "it has more than 1024 entries");
		return 0;
	}
	xattrs->nfs4_acl = source_nfs4_acl_new();
	while (n-- > 0 && get_ace(&in, &ace, &who, &len)) {
		g_autofree char *shown = text_name(who, len);
		int found = find_who(owners, demand, who, len, &ace);

		ret = MIN(ret, found);
		source_nfs4_acl_add(xattrs->nfs4_acl, &ace, shown);
	}
	return ret;
}
