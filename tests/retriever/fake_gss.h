/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A GSS mechanism without secrets, in place of the library's, and the server's side of RPCSEC_GSS
 * for the fake server: for what no real server does.  Include in one file of a program.
 */
#ifndef TESTS_RETRIEVER_FAKE_GSS_H
#define TESTS_RETRIEVER_FAKE_GSS_H

#include "tests/retriever/fake_nfs.h"

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>

#include "lib/source/nfs/nfs_gss.h"

#define FAKE_MIC      8u
#define FAKE_KEY      0x5au
#define FAKE_HANDLE   "context"
#define FAKE_TOKEN    "ticket"
#define FAKE_ANSWER   "welcome"
#define FAKE_LIFETIME 1000u

static OM_uint32 fake_gss_lifetime = FAKE_LIFETIME;
static bool fake_gss_fails;    /* MICs and wraps cannot be made */
static unsigned fake_gss_ends; /* so many tickets end between the token and its answer */
static atomic_uint fake_gss_contexts;

static inline void fake_mic(const uint8_t *text, size_t len, uint8_t mic[FAKE_MIC])
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ text[i]) * UINT64_C(0x100000001b3);
	memcpy(mic, &hash, FAKE_MIC);
}

static inline void fake_buffer(gss_buffer_t to, size_t len)
{
	to->length = len;
	to->value = malloc(len);
}

OM_uint32 gss_get_mic(OM_uint32 *minor, gss_ctx_id_t context, gss_qop_t qop, gss_buffer_t text,
		      gss_buffer_t mic)
{
	if (fake_gss_fails)
		return GSS_S_CONTEXT_EXPIRED;
	fake_buffer(mic, FAKE_MIC);
	fake_mic(text->value, text->length, mic->value);
	return GSS_S_COMPLETE;
}

OM_uint32 gss_verify_mic(OM_uint32 *minor, gss_ctx_id_t context, gss_buffer_t text,
			 gss_buffer_t mic, gss_qop_t *qop)
{
	uint8_t right[FAKE_MIC];

	fake_mic(text->value, text->length, right);
	return mic->length == FAKE_MIC && memcmp(mic->value, right, FAKE_MIC) == 0 ? GSS_S_COMPLETE
										   : GSS_S_BAD_SIG;
}

OM_uint32 gss_wrap(OM_uint32 *minor, gss_ctx_id_t context, int conf, gss_qop_t qop,
		   gss_buffer_t plain, int *is_conf, gss_buffer_t sealed)
{
	const uint8_t *from = plain->value;
	uint8_t *to;

	if (fake_gss_fails)
		return GSS_S_CONTEXT_EXPIRED;
	fake_buffer(sealed, plain->length + FAKE_MIC);
	to = sealed->value;
	fake_mic(from, plain->length, to);
	for (size_t i = 0; i < plain->length; i++)
		to[FAKE_MIC + i] = from[i] ^ FAKE_KEY;
	*is_conf = conf;
	return GSS_S_COMPLETE;
}

OM_uint32 gss_unwrap_iov(OM_uint32 *minor, gss_ctx_id_t context, int *conf, gss_qop_t *qop,
			 gss_iov_buffer_desc *iov, int n)
{
	uint8_t *sealed = iov[0].buffer.value, right[FAKE_MIC];
	size_t len = iov[0].buffer.length;

	if (len < FAKE_MIC)
		return GSS_S_DEFECTIVE_TOKEN;
	len -= FAKE_MIC;
	for (size_t i = 0; i < len; i++)
		sealed[FAKE_MIC + i] ^= FAKE_KEY;
	fake_mic(sealed + FAKE_MIC, len, right);
	iov[1].buffer = (gss_buffer_desc){.length = len, .value = sealed + FAKE_MIC};
	*conf = 1;
	return memcmp(right, sealed, FAKE_MIC) == 0 ? GSS_S_COMPLETE : GSS_S_BAD_SIG;
}

/* One token each way. */
OM_uint32 gss_init_sec_context(OM_uint32 *minor, gss_cred_id_t credential, gss_ctx_id_t *context,
			       gss_name_t target, gss_OID mechanism, OM_uint32 flags,
			       OM_uint32 lifetime, gss_channel_bindings_t bindings,
			       gss_buffer_t from, gss_OID *got_mechanism, gss_buffer_t to,
			       OM_uint32 *got_flags, OM_uint32 *got_lifetime)
{
	*minor = 0;
	*to = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
	*got_flags = flags;
	*got_lifetime = fake_gss_lifetime;
	if (!*context) {
		*context = (gss_ctx_id_t)g_malloc(1);
		atomic_fetch_add(&fake_gss_contexts, 1);
		fake_buffer(to, strlen(FAKE_TOKEN));
		memcpy(to->value, FAKE_TOKEN, to->length);
		return GSS_S_CONTINUE_NEEDED;
	}
	if (fake_gss_ends > 0) {
		fake_gss_ends--;
		*minor = (OM_uint32)KRB5KRB_AP_ERR_TKT_EXPIRED;
		return GSS_S_CREDENTIALS_EXPIRED;
	}
	return from->length == strlen(FAKE_ANSWER) &&
			       memcmp(from->value, FAKE_ANSWER, from->length) == 0
		       ? GSS_S_COMPLETE
		       : GSS_S_DEFECTIVE_TOKEN;
}

OM_uint32 gss_delete_sec_context(OM_uint32 *minor, gss_ctx_id_t *context, gss_buffer_t token)
{
	if (*context)
		atomic_fetch_sub(&fake_gss_contexts, 1);
	g_free(*context);
	*context = GSS_C_NO_CONTEXT;
	return GSS_S_COMPLETE;
}

OM_uint32 gss_release_buffer(OM_uint32 *minor, gss_buffer_t buffer)
{
	free(buffer->value);
	*buffer = (gss_buffer_desc)GSS_C_EMPTY_BUFFER;
	return GSS_S_COMPLETE;
}

OM_uint32 gss_acquire_cred_from(OM_uint32 *minor, gss_name_t name, OM_uint32 lifetime,
				gss_OID_set mechanisms, gss_cred_usage_t usage,
				gss_const_key_value_set_t store, gss_cred_id_t *got,
				gss_OID_set *got_mechanisms, OM_uint32 *got_lifetime)
{
	return GSS_S_COMPLETE;
}

/* The library's keeps what it does not know. */
OM_uint32 gss_display_status(OM_uint32 *minor, OM_uint32 value, int type, gss_OID mechanism,
			     OM_uint32 *more, gss_buffer_t text)
{
	return GSS_S_BAD_STATUS;
}

/* ---- the server's side ---- */

struct fake_gss {
	enum nfs_sec sec;
	uint32_t window, major; /* of what INIT is answered */
	const char *handle, *answer;
	bool unsigned_answer;
	enum fake_action (*hook)(struct fake_call *call); /* of calls with a context; or NULL */
	/* what happens to the nth of them, counted from 1 over all connections; 0: to none */
	unsigned forget, forge;
	atomic_bool keeps; /* no context is destroyed, and nothing is said to it */
	atomic_uint contexts, calls, destroyed;
};

static inline struct fake_gss fake_gss_of(enum nfs_sec sec)
{
	return (struct fake_gss){
		.sec = sec, .window = 128, .handle = FAKE_HANDLE, .answer = FAKE_ANSWER};
}

static inline void fake_gss_header(struct fake_call *call, uint32_t sequence, bool is_signed)
{
	uint8_t mic[FAKE_MIC];

	call->out.p = call->start + 4;
	xdr_put_u32(&call->out, call->xid);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 0);
	sequence = htobe32(sequence);
	fake_mic((const uint8_t *)&sequence, 4, mic);
	xdr_put_u32(&call->out, RPCSEC_GSS_FLAVOR);
	xdr_put_bytes(&call->out, mic, is_signed ? FAKE_MIC : 0);
	xdr_put_u32(&call->out, 0);
}

static inline enum fake_action fake_gss_deny(struct fake_call *call, uint32_t why)
{
	call->out.p = call->start + 4;
	xdr_put_u32(&call->out, call->xid);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, why);
	return FAKE_REPLY;
}

static inline enum fake_action fake_gss_init(struct fake_gss *gss, struct fake_call *call)
{
	uint32_t len;
	const uint8_t *token = xdr_get_bytes(&call->args, &len);

	ck_assert_uint_eq(call->procedure, 0);
	ck_assert(!call->args.bad && len == strlen(FAKE_TOKEN) && !memcmp(token, FAKE_TOKEN, len));
	atomic_fetch_add(&gss->contexts, 1);
	fake_gss_header(call, gss->window, !gss->unsigned_answer);
	xdr_put_bytes(&call->out, gss->handle, (uint32_t)strlen(gss->handle));
	xdr_put_u32(&call->out, gss->major);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, gss->window);
	xdr_put_bytes(&call->out, gss->answer, (uint32_t)strlen(gss->answer));
	return FAKE_REPLY;
}

/* The arguments of a call are what is in them. */
static inline void fake_gss_open(const struct fake_gss *gss, struct fake_call *call,
				 uint32_t sequence)
{
	uint32_t len, mic_len;
	uint8_t mic[FAKE_MIC];
	const uint8_t *body, *given;
	OM_uint32 minor;
	int conf;

	if (gss->sec == NFS_SEC_KRB5)
		return;
	body = xdr_get_bytes(&call->args, &len);
	if (gss->sec == NFS_SEC_KRB5P) {
		gss_iov_buffer_desc iov[2] = {{.buffer = {.length = len, .value = (void *)body}}};

		ck_assert(gss_unwrap_iov(&minor, NULL, &conf, NULL, iov, 2) == GSS_S_COMPLETE);
		body = iov[1].buffer.value;
		len = (uint32_t)iov[1].buffer.length;
	} else {
		given = xdr_get_bytes(&call->args, &mic_len);
		fake_mic(body, len, mic);
		ck_assert(mic_len == FAKE_MIC && memcmp(given, mic, FAKE_MIC) == 0);
	}
	ck_assert_ptr_eq(call->args.p, call->args.end);
	call->args = (struct xdr_in){.p = body, .end = body + len};
	ck_assert_uint_eq(xdr_get_u32(&call->args), sequence);
}

/* A result as that flavour carries it. */
static inline void fake_gss_close(enum nfs_sec sec, uint32_t sequence, const uint8_t *result,
				  size_t len, struct xdr_out *out)
{
	g_autofree uint8_t *body = g_malloc(len + 4);
	gss_buffer_desc plain = {.length = len + 4, .value = body}, sealed;
	uint8_t mic[FAKE_MIC];
	OM_uint32 minor;
	int conf;

	memcpy(body + 4, result, len);
	sequence = htobe32(sequence);
	memcpy(body, &sequence, 4);
	if (sec == NFS_SEC_KRB5P) {
		gss_wrap(&minor, NULL, 1, 0, &plain, &conf, &sealed);
		xdr_put_bytes(out, sealed.value, (uint32_t)sealed.length);
		gss_release_buffer(&minor, &sealed);
	} else if (sec == NFS_SEC_KRB5I) {
		xdr_put_bytes(out, body, (uint32_t)len + 4);
		fake_mic(body, len + 4, mic);
		xdr_put_bytes(out, mic, FAKE_MIC);
	} else {
		memcpy(out->p, result, len);
		out->p += len;
	}
}

static inline enum fake_action fake_gss_data(struct fake_gss *gss, struct fake_call *call,
					     uint32_t sequence)
{
	unsigned n = atomic_fetch_add(&gss->calls, 1) + 1;
	enum fake_action action;
	g_autofree uint8_t *result = NULL;
	size_t len;

	if (n == gss->forget)
		return fake_gss_deny(call, 14);
	fake_gss_open(gss, call, sequence);
	action = gss->hook ? gss->hook(call) : FAKE_DEFAULT;
	if (action == FAKE_DEFAULT)
		action = fake_default(call);
	if (action == FAKE_IGNORE || action == FAKE_RESET)
		return action;
	len = (size_t)(call->out.p - call->start) - 28;
	result = g_memdup2(call->start + 28, len);
	fake_gss_header(call, sequence, true);
	fake_gss_close(gss->sec, sequence, result, len, &call->out);
	if (n == gss->forge)
		call->start[24] ^= 1; /* in its verifier */
	return action;
}

/* The fake server's hook, with a struct fake_gss for its user. */
static inline enum fake_action fake_gss_serve(struct fake_call *call)
{
	struct fake_gss *gss = call->fake->user;
	struct xdr_in credential = call->credential;
	uint32_t procedure, sequence, service, len;
	uint8_t mic[FAKE_MIC];
	const uint8_t *handle;

	if (call->flavour != RPCSEC_GSS_FLAVOR)
		return FAKE_DEFAULT;
	ck_assert_uint_eq(xdr_get_u32(&credential), NFS_GSS_VERSION);
	procedure = xdr_get_u32(&credential);
	sequence = xdr_get_u32(&credential);
	service = xdr_get_u32(&credential);
	handle = xdr_get_bytes(&credential, &len);
	ck_assert(!credential.bad);
	ck_assert_uint_eq(service, gss->sec);
	if (procedure == NFS_GSS_INIT) {
		ck_assert_uint_eq(len, 0);
		return fake_gss_init(gss, call);
	}
	ck_assert(len == strlen(FAKE_HANDLE) && memcmp(handle, FAKE_HANDLE, len) == 0);
	fake_mic(call->header, call->header_len, mic);
	ck_assert(call->verifier_len == FAKE_MIC && memcmp(call->verifier, mic, FAKE_MIC) == 0);
	if (procedure == NFS_GSS_DESTROY) {
		ck_assert_uint_eq(call->procedure, 0);
		ck_assert_ptr_eq(call->args.p, call->args.end);
		if (atomic_load(&gss->keeps))
			return FAKE_IGNORE;
		atomic_fetch_add(&gss->destroyed, 1);
		fake_gss_header(call, sequence, true);
		return FAKE_REPLY;
	}
	return fake_gss_data(gss, call, sequence);
}

#endif
