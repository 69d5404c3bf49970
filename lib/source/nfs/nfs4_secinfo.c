/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_secinfo.h"

#include <errno.h>
#include <gssapi/gssapi_krb5.h>

#define AUTH_SYS 1

static const char *const remedies[] = {
	[NFS_SEC_SYS] = "AUTH_SYS: set sec=sys",
	[NFS_SEC_KRB5] = "krb5: set sec=krb5",
	[NFS_SEC_KRB5I] = "krb5i: set sec=krb5i",
	[NFS_SEC_KRB5P] = "krb5p: set sec=krb5p",
};

void nfs4_put_secinfo(struct xdr_out *out, const char *name, size_t len)
{
	xdr_put_u32(out, name ? OP_SECINFO : OP_SECINFO_NO_NAME);
	if (name)
		xdr_put_bytes(out, name, (uint32_t)len);
	else
		xdr_put_u32(out, 0); /* not its parent */
}

/* One flavour; -1: it is not spoken here. */
static int get_flavour(struct xdr_in *in)
{
	uint32_t flavour = xdr_get_u32(in), len, service;
	const uint8_t *mechanism;
	bool krb5;

	if (flavour != RPCSEC_GSS_FLAVOR)
		return flavour == AUTH_SYS ? NFS_SEC_SYS : -1;
	mechanism = xdr_get_bytes(in, &len);
	xdr_skip(in, 4); /* quality of protection */
	service = xdr_get_u32(in);
	krb5 = len == gss_mech_krb5->length && memcmp(mechanism, gss_mech_krb5->elements, len) == 0;
	return krb5 && service >= NFS_SEC_KRB5 && service <= NFS_SEC_KRB5P ? (int)service : -1;
}

int nfs4_get_secinfo(struct xdr_in *in, bool named, enum nfs_sec sec, const char **wants)
{
	uint32_t status, n;
	int flavour, best = -1, ret;

	ret = nfs4_get_op(in, named ? OP_SECINFO : OP_SECINFO_NO_NAME, &status);
	if (ret < 0)
		return ret;
	n = xdr_get_u32(in);
	/* what the server likes best comes first */
	for (uint32_t i = 0; i < n && !in->bad && best != (int)sec; i++) {
		flavour = get_flavour(in);
		if (best < 0 || flavour == (int)sec)
			best = flavour;
	}
	if (in->bad)
		return -EBADMSG;
	*wants = best < 0	    ? "a flavour that is not spoken here: have it take krb5p or sys"
		 : best == (int)sec ? "more than that sec= (it may be "
				      "xprtsec=tls), or another sec= for something in it"
				    : remedies[best];
	return 0;
}
