/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_context.h"

#include <errno.h>
#include <gssapi/gssapi_krb5.h>
#include <poll.h>

#include "lib/source/nfs/nfs_net.h"

#define NULLPROC     0
#define TOKEN_MAX    65536u
#define ROUNDS	     8	 /* of tokens; Kerberos needs one */
#define MARGIN	     60u /* s before a ticket's end that the next one is used */
#define LIFETIME_MIN 1u
#define LIFETIME_MAX 86400u /* s: so that no arithmetic overflows */

struct handshake {
	struct nfs_server *server;
	struct nfs_call call;
	gss_ctx_id_t context;
	gss_name_t target;
	gss_cred_id_t credential;
	OM_uint32 lifetime;
	uint8_t handle[NFS_GSS_HANDLE];
	uint32_t handle_len, window;
	bool complete; /* for the server */
	bool refused;  /* by the server */
	bool old;      /* the ticket is */
	char *why;
};

static int note_refused_ticket(struct handshake *h, const char *said)
{
	h->refused = true;
	h->why = g_strdup_printf(
		"the old server refuses the ticket (%s): see that it has "
		"Kerberos, its log, that its keytab has the realm's present keys of "
		"nfs/%s, and the clocks of all",
		said, h->server->url.host);
	return -EKEYREJECTED;
}

/* The header of an answer to INIT says who it is from once both sides are done. */
static int take_context_answer(struct handshake *h, const struct rpc_reply *reply,
			       struct xdr_in *in, gss_buffer_t token)
{
	const uint8_t *handle = xdr_get_bytes(in, &h->handle_len);
	OM_uint32 major = xdr_get_u32(in), minor = xdr_get_u32(in);
	uint32_t len;
	const uint8_t *bytes;

	h->window = xdr_get_u32(in);
	bytes = xdr_get_bytes(in, &len);
	if (in->bad || len > TOKEN_MAX)
		return -EBADMSG;
	if (GSS_ERROR(major)) {
		g_autofree char *said =
			g_strdup_printf("its GSS status is 0x%x, 0x%x", major, minor);

		return note_refused_ticket(h, said);
	}
	if (h->handle_len > NFS_GSS_HANDLE || h->handle_len == 0)
		return -EBADMSG;
	memcpy(h->handle, handle, h->handle_len);
	h->complete = major == GSS_S_COMPLETE;
	if (h->complete && (reply->verifier_len == 0 || h->window == 0))
		return -EBADMSG;
	token->value = g_memdup2(bytes, len);
	token->length = len;
	return 0;
}

/* Sends a token; *answer is to be freed, also on failure. */
static int exchange(struct handshake *h, const gss_buffer_desc *token, bool first,
		    gss_buffer_t answer, uint8_t **verifier, uint32_t *verifier_len)
{
	struct rpc_auth auth = {0};
	struct xdr_out out = {.p = auth.bytes, .end = auth.bytes + sizeof(auth.bytes)};
	struct xdr_out args;
	g_autofree uint8_t *bytes = NULL;
	struct rpc_reply reply;
	struct xdr_in in;
	uint8_t *memory;
	int ret;

	nfs_gss_put_credential(&out, first ? NFS_GSS_INIT : NFS_GSS_CONTINUE, 0, h->server->url.sec,
			       h->handle, h->handle_len);
	xdr_put_u32(&out, 0); /* AUTH_NONE */
	xdr_put_u32(&out, 0);
	auth.len = (size_t)(out.p - auth.bytes);
	bytes = g_malloc(token->length + 8);
	args = (struct xdr_out){.p = bytes, .end = bytes + token->length + 8};
	xdr_put_bytes(&args, token->value, (uint32_t)token->length);
	h->call.auth = &auth;
	h->call.args = bytes;
	h->call.args_len = (size_t)(args.p - bytes);
	h->call.reply = &reply;
	h->call.makes = true;
	ret = nfs_call(&h->call, &in, &memory);
	if (ret == -EACCES || ret == -EKEYEXPIRED)
		return note_refused_ticket(h, "it denies the call");
	if (ret < 0)
		return ret;
	ret = take_context_answer(h, &reply, &in, answer);
	if (ret == 0) {
		*verifier_len = reply.verifier_len;
		*verifier = g_memdup2(reply.verifier, reply.verifier_len);
	}
	g_free(memory);
	return ret;
}

/* Makes this side's next token.  GSS_S_CONTINUE_NEEDED: the server's answer is wanted. */
static OM_uint32 step(struct handshake *h, gss_buffer_t from, gss_buffer_t to)
{
	const OM_uint32 flags = GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG |
				(h->server->url.sec == NFS_SEC_KRB5P ? GSS_C_CONF_FLAG : 0);
	OM_uint32 major, minor, got = 0;

	major = gss_init_sec_context(&minor, h->credential, &h->context, h->target,
				     (gss_OID)gss_mech_krb5, flags, 0, GSS_C_NO_CHANNEL_BINDINGS,
				     from, NULL, to, &got, &h->lifetime);
	h->old = GSS_ERROR(major) && nfs_credential_is_old(&h->server->credential, minor);
	if (GSS_ERROR(major))
		h->why = nfs_credential_explain(&h->server->credential, major, minor);
	else if (major == GSS_S_COMPLETE && (got & flags) != flags)
		h->why = g_strdup("the ticket does not allow what sec= wants: take krb5 or krb5i");
	return h->why ? GSS_S_FAILURE : major;
}

static int shake_hands(struct handshake *h)
{
	gss_buffer_desc from = GSS_C_EMPTY_BUFFER;
	g_autofree uint8_t *verifier = NULL;
	uint32_t verifier_len = 0;
	OM_uint32 major = GSS_S_CONTINUE_NEEDED, minor;
	int ret = 0;

	for (int i = 0; i < ROUNDS && ret == 0; i++) {
		gss_buffer_desc to = GSS_C_EMPTY_BUFFER;

		if (major == GSS_S_CONTINUE_NEEDED)
			major = step(h, i ? &from : GSS_C_NO_BUFFER, &to);
		g_clear_pointer(&from.value, g_free);
		if (GSS_ERROR(major))
			ret = -EKEYREJECTED;
		else if (to.length > 0 && !h->complete) {
			g_clear_pointer(&verifier, g_free);
			ret = exchange(h, &to, i == 0, &from, &verifier, &verifier_len);
		} else if (major != GSS_S_COMPLETE || !h->complete)
			ret = -EBADMSG;
		gss_release_buffer(&minor, &to);
		if (ret == 0 && major == GSS_S_COMPLETE && h->complete)
			break;
	}
	g_free(from.value);
	if (ret == 0 && (major != GSS_S_COMPLETE || !h->complete))
		ret = -EBADMSG;
	if (ret == 0 && !nfs_gss_is_signed(h->context, h->window, verifier, verifier_len))
		ret = note_refused_ticket(h, "the answer is not signed by its key");
	return ret;
}

static int log_on(struct handshake *h)
{
	OM_uint32 minor;

	gss_release_cred(&minor, &h->credential);
	gss_delete_sec_context(&minor, &h->context, GSS_C_NO_BUFFER);
	g_clear_pointer(&h->why, g_free);
	h->handle_len = 0;
	h->complete = false;
	h->credential = nfs_credential_get(&h->server->credential, &h->why);
	return h->why ? -EKEYREJECTED : shake_hands(h);
}

static bool is_cancelled(int cancel_fd)
{
	struct pollfd polled = {.fd = cancel_fd, .events = POLLIN};

	return cancel_fd >= 0 && poll(&polled, 1, 0) > 0;
}

static gss_name_t target_of(const char *host)
{
	g_autofree char *text = g_strconcat("nfs@", host, NULL);
	gss_buffer_desc name = {.length = strlen(text), .value = text};
	gss_name_t target = GSS_C_NO_NAME;
	OM_uint32 minor;

	gss_import_name(&minor, &name, GSS_C_NT_HOSTBASED_SERVICE, &target);
	return target;
}

static gint64 end_of(OM_uint32 lifetime)
{
	lifetime = MIN(lifetime, LIFETIME_MAX);
	lifetime -= MIN(MARGIN, lifetime / 4);
	return g_get_monotonic_time() + (gint64)MAX(lifetime, LIFETIME_MIN) * G_USEC_PER_SEC;
}

int nfs_context_make(struct nfs_server *server, const struct nfs_address *address, unsigned port,
		     uint32_t program, uint32_t version, gint64 deadline, int cancel_fd,
		     struct nfs_gss **gss, char **why)
{
	struct nfs_credential *credential = &server->credential;
	struct handshake h = {
		.server = server,
		.call = {.address = address,
			 .port = port,
			 .program = program,
			 .version = version,
			 .procedure = NULLPROC,
			 .deadline = deadline,
			 .cancel_fd = cancel_fd,
			 .tls = nfs_server_tls(server),
			 .why = &h.why},
		.context = GSS_C_NO_CONTEXT,
	};
	OM_uint32 minor;
	int ret = -ECANCELED;

	pthread_mutex_lock(&credential->lock);
	if (!is_cancelled(cancel_fd)) {
		h.target = target_of(server->url.host);
		ret = log_on(&h);
		if (h.refused || h.old)
			nfs_credential_forget(credential);
		if (h.old) /* so that the message says why there is no new ticket */
			ret = log_on(&h);
	}
	pthread_mutex_unlock(&credential->lock);
	if (ret == 0)
		*gss = nfs_gss_new(g_steal_pointer(&h.context), server->url.sec, h.handle,
				   h.handle_len, h.window, end_of(h.lifetime));
	*why = h.why;
	gss_delete_sec_context(&minor, &h.context, GSS_C_NO_BUFFER);
	gss_release_cred(&minor, &h.credential);
	gss_release_name(&minor, &h.target);
	return ret;
}

void nfs_context_end(const struct nfs_server *server, const struct nfs_address *address,
		     unsigned port, uint32_t program, uint32_t version, struct nfs_gss *gss)
{
	const struct rpc_auth auth = {.gss = gss};
	const gint64 now = g_get_monotonic_time();
	g_autofree char *why = NULL;
	const struct nfs_call call = {
		.address = address,
		.auth = &auth,
		.port = port,
		.program = program,
		.version = version,
		.procedure = NULLPROC,
		.deadline = now + G_USEC_PER_SEC,
		.cancel_fd = -1,
		.tls = nfs_server_tls(server),
		.why = &why,
	};
	uint8_t *memory = NULL;
	struct xdr_in in;

	if (!nfs_gss_is_worn(gss, now)) {
		nfs_gss_end(gss);
		nfs_call(&call, &in, &memory);
	}
	g_free(memory);
	nfs_gss_free(gss);
}
