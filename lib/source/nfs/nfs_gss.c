/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_gss.h"

#include <errno.h>
#include <gssapi/gssapi_ext.h>

#define SEQUENCE_MAX UINT32_C(0x7fff0000) /* RFC 2203 section 5.3.3.1: before 0x80000000 */

struct nfs_gss {
	gss_ctx_id_t context;
	enum nfs_sec sec;
	uint8_t handle[NFS_GSS_HANDLE];
	uint32_t handle_len, window;
	int64_t until;
	bool ends;
	uint32_t sequence;
	uint8_t *body;			   /* of the call that is made */
	uint32_t sequences[NFS_GSS_CALLS]; /* of calls, by their xid */
	struct {
		uint32_t sequence;
		gint64 sent;   /* 0: answered */
	} last[NFS_GSS_CALLS]; /* calls, by their sequence modulo window */
};

struct nfs_gss *nfs_gss_new(gss_ctx_id_t context, enum nfs_sec sec, const uint8_t *handle,
			    uint32_t handle_len, uint32_t window, int64_t until)
{
	struct nfs_gss *gss = g_new0(struct nfs_gss, 1);

	g_assert(handle_len <= NFS_GSS_HANDLE);
	gss->context = context;
	gss->sec = sec;
	memcpy(gss->handle, handle, handle_len);
	gss->handle_len = handle_len;
	gss->window = CLAMP(window, 2, NFS_GSS_CALLS + 1) - 1;
	gss->until = until;
	return gss;
}

void nfs_gss_free(struct nfs_gss *gss)
{
	OM_uint32 minor;

	gss_delete_sec_context(&minor, &gss->context, GSS_C_NO_BUFFER);
	g_free(gss);
}

unsigned nfs_gss_window(const struct nfs_gss *gss)
{
	return gss->window;
}

bool nfs_gss_has_room(const struct nfs_gss *gss)
{
	gint64 sent = gss->last[(gss->sequence + 1) % gss->window].sent;

	return sent == 0 || g_get_monotonic_time() - sent >= NFS_GSS_LOOKED;
}

void nfs_gss_answered(struct nfs_gss *gss, uint32_t xid)
{
	uint32_t sequence = gss->sequences[xid % NFS_GSS_CALLS];
	uint32_t at = sequence % gss->window;

	if (gss->last[at].sequence == sequence)
		gss->last[at].sent = 0;
}

bool nfs_gss_is_worn(const struct nfs_gss *gss, int64_t now)
{
	return now >= gss->until || gss->sequence >= SEQUENCE_MAX;
}

void nfs_gss_end(struct nfs_gss *gss)
{
	gss->ends = true;
}

/* Whether arguments and results are wrapped. */
static bool wraps(const struct nfs_gss *gss)
{
	return gss->sec != NFS_SEC_KRB5 && !gss->ends;
}

/* ---- calls ---- */

void nfs_gss_put_credential(struct xdr_out *out, enum nfs_gss_procedure procedure,
			    uint32_t sequence, enum nfs_sec sec, const uint8_t *handle,
			    uint32_t handle_len)
{
	xdr_put_u32(out, RPCSEC_GSS_FLAVOR);
	xdr_put_u32(out, 5 * 4 + ((handle_len + 3) & ~3u));
	xdr_put_u32(out, NFS_GSS_VERSION);
	xdr_put_u32(out, procedure);
	xdr_put_u32(out, sequence);
	xdr_put_u32(out, sec); /* the numbers of rpc_gss_service_t */
	xdr_put_bytes(out, handle, handle_len);
}

/* A MIC over what starts there, as opaque bytes. */
static void put_mic(struct nfs_gss *gss, const uint8_t *start, size_t len, struct xdr_out *out)
{
	gss_buffer_desc text = {.length = len, .value = (void *)start}, mic = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor;

	/* an empty one is refused */
	if (gss_get_mic(&minor, gss->context, GSS_C_QOP_DEFAULT, &text, &mic) != GSS_S_COMPLETE)
		gss->until = 0;
	xdr_put_bytes(out, mic.value, (uint32_t)mic.length);
	gss_release_buffer(&minor, &mic);
}

void nfs_gss_begin(struct nfs_gss *gss, uint32_t xid, const uint8_t *header, struct xdr_out *out)
{
	gss->sequence++;
	gss->sequences[xid % NFS_GSS_CALLS] = gss->sequence;
	gss->last[gss->sequence % gss->window].sequence = gss->sequence;
	gss->last[gss->sequence % gss->window].sent = g_get_monotonic_time();
	nfs_gss_put_credential(out, gss->ends ? NFS_GSS_DESTROY : NFS_GSS_DATA, gss->sequence,
			       gss->sec, gss->handle, gss->handle_len);
	xdr_put_u32(out, RPCSEC_GSS_FLAVOR);
	put_mic(gss, header, (size_t)(out->p - 4 - header), out);
	if (!wraps(gss))
		return;
	gss->body = out->p;
	xdr_put_u32(out, 0); /* the length, once it is known */
	xdr_put_u32(out, gss->sequence);
}

static void put_private(struct nfs_gss *gss, size_t len, struct xdr_out *out)
{
	gss_buffer_desc plain = {.length = len, .value = gss->body + 4};
	gss_buffer_desc sealed = GSS_C_EMPTY_BUFFER;
	OM_uint32 minor;
	int conf = 0;

	out->p = gss->body;
	/* as with a MIC, an empty one is refused: nothing goes out in the clear */
	if (gss_wrap(&minor, gss->context, 1, GSS_C_QOP_DEFAULT, &plain, &conf, &sealed) !=
		    GSS_S_COMPLETE ||
	    !conf) {
		gss_release_buffer(&minor, &sealed);
		gss->until = 0;
	}
	xdr_put_bytes(out, sealed.value, (uint32_t)sealed.length);
	gss_release_buffer(&minor, &sealed);
}

void nfs_gss_finish(struct nfs_gss *gss, struct xdr_out *out)
{
	struct xdr_out length;
	size_t len;

	if (!wraps(gss) || out->bad)
		return;
	len = (size_t)(out->p - gss->body - 4);
	if (gss->sec == NFS_SEC_KRB5P) {
		put_private(gss, len, out);
		return;
	}
	length = (struct xdr_out){.p = gss->body, .end = gss->body + 4};
	xdr_put_u32(&length, (uint32_t)len);
	put_mic(gss, gss->body + 4, len, out);
}

/* ---- replies ---- */

static bool is_mic(gss_ctx_id_t context, const uint8_t *text, size_t len, const uint8_t *mic,
		   uint32_t mic_len)
{
	gss_buffer_desc signed_text = {.length = len, .value = (void *)text};
	gss_buffer_desc token = {.length = mic_len, .value = (void *)mic};
	OM_uint32 minor;

	return mic_len > 0 &&
	       gss_verify_mic(&minor, context, &signed_text, &token, NULL) == GSS_S_COMPLETE;
}

bool nfs_gss_is_signed(gss_ctx_id_t context, uint32_t number, const uint8_t *mic, uint32_t len)
{
	number = htobe32(number);
	return is_mic(context, (const uint8_t *)&number, sizeof(number), mic, len);
}

static bool open_integrity(struct nfs_gss *gss, struct xdr_in *in)
{
	uint32_t len, mic_len;
	const uint8_t *text = xdr_get_bytes(in, &len), *mic = xdr_get_bytes(in, &mic_len);

	if (in->bad || !is_mic(gss->context, text, len, mic, mic_len))
		return false;
	*in = (struct xdr_in){.p = text, .end = text + len};
	return true;
}

/* Where it is. */
static bool open_privacy(struct nfs_gss *gss, struct xdr_in *in)
{
	uint32_t len;
	const uint8_t *sealed = xdr_get_bytes(in, &len);
	gss_iov_buffer_desc iov[2] = {
		{.type = GSS_IOV_BUFFER_TYPE_STREAM,
		 .buffer = {.length = len, .value = (void *)sealed}},
		{.type = GSS_IOV_BUFFER_TYPE_DATA},
	};
	OM_uint32 minor;
	int conf = 0;

	if (in->bad || len == 0 ||
	    gss_unwrap_iov(&minor, gss->context, &conf, NULL, iov, 2) != GSS_S_COMPLETE || !conf)
		return false;
	*in = (struct xdr_in){.p = iov[1].buffer.value};
	in->end = in->p + iov[1].buffer.length;
	return true;
}

int nfs_gss_open(struct nfs_gss *gss, uint32_t xid, const uint8_t *verifier, uint32_t len,
		 int status, struct xdr_in *in)
{
	uint32_t sequence = gss->sequences[xid % NFS_GSS_CALLS];

	if (!nfs_gss_is_signed(gss->context, sequence, verifier, len))
		return -EKEYREJECTED;
	if (status < 0 || !wraps(gss)) /* what failed has no result */
		return status;
	if (!(gss->sec == NFS_SEC_KRB5I ? open_integrity(gss, in) : open_privacy(gss, in)) ||
	    xdr_get_u32(in) != sequence || in->bad)
		return -EKEYREJECTED;
	return 0;
}
