/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an old server with Kerberos sends (I10), up to a call's result: reply headers, verifiers,
 * and bodies of the three flavours, with a mechanism in the library's place that takes every
 * signature but an empty one.  What is taken lies in the record.
 *
 * Input: a byte for the flavour, then a record.
 */
#include <gssapi/gssapi_ext.h>
#include <string.h>

#include "lib/source/nfs/nfs_rpc.h"
#include "tests/fuzz/fuzz.h"

#define XID UINT32_C(0x01020304)

OM_uint32 gss_get_mic(OM_uint32 *minor, gss_ctx_id_t context, gss_qop_t qop, gss_buffer_t text,
		      gss_buffer_t mic)
{
	*mic = (gss_buffer_desc){.length = 4, .value = strdup("mic")};
	return GSS_S_COMPLETE;
}

static volatile uint8_t seen;

OM_uint32 gss_verify_mic(OM_uint32 *minor, gss_ctx_id_t context, gss_buffer_t text,
			 gss_buffer_t mic, gss_qop_t *qop)
{
	REQUIRE(mic->length > 0);
	for (size_t i = 0; i < text->length; i++)
		seen += ((const uint8_t *)text->value)[i];
	return GSS_S_COMPLETE;
}

OM_uint32 gss_wrap(OM_uint32 *minor, gss_ctx_id_t context, int conf, gss_qop_t qop,
		   gss_buffer_t plain, int *is_conf, gss_buffer_t sealed)
{
	*is_conf = conf;
	return gss_get_mic(minor, context, qop, plain, sealed);
}

/* All but its first byte. */
OM_uint32 gss_unwrap_iov(OM_uint32 *minor, gss_ctx_id_t context, int *conf, gss_qop_t *qop,
			 gss_iov_buffer_desc *iov, int n)
{
	REQUIRE(iov[0].buffer.length > 0);
	iov[1].buffer.value = (uint8_t *)iov[0].buffer.value + 1;
	iov[1].buffer.length = iov[0].buffer.length - 1;
	*conf = 1;
	return GSS_S_COMPLETE;
}

OM_uint32 gss_release_buffer(OM_uint32 *minor, gss_buffer_t buffer)
{
	free(buffer->value);
	buffer->value = NULL;
	return GSS_S_COMPLETE;
}

OM_uint32 gss_delete_sec_context(OM_uint32 *minor, gss_ctx_id_t *context, gss_buffer_t token)
{
	return GSS_S_COMPLETE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t call[RPC_CALL_MAX], record[4096];
	struct xdr_out out = {.p = call, .end = call + sizeof(call)};
	struct xdr_in in = {.p = record};
	struct rpc_auth auth = {0};
	struct rpc_reply reply;
	int status;

	if (size < 1 || size - 1 > sizeof(record))
		return 0;
	memcpy(record, data + 1, size - 1);
	in.end = record + size - 1;
	auth.gss = nfs_gss_new(NULL, NFS_SEC_KRB5 + data[0] % 3, (const uint8_t *)"h", 1, 8, 1);
	rpc_call_begin(&out, &auth, XID, 1, 2, 3);
	rpc_call_finish(&out, &auth, call);
	REQUIRE(!out.bad);
	status = rpc_reply_begin(&in, &reply);
	status = rpc_reply_open(&auth, &reply, status, &in);
	REQUIRE(status <= 0);
	if (status == 0)
		REQUIRE(in.p >= record && in.p <= in.end && in.end <= record + size - 1);
	nfs_gss_free(auth.gss);
	return 0;
}
