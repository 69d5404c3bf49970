/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/smb_call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/config/volume_config.h"
#include "lib/source/smb/smb_reply.h"
#include "lib/source/smb/smb_worker.h"

#define STALL_MS       30000 /* of the server; the writer says so */
#define DELETE_PENDING 0xc0000056u
#define AWAIT_MS       90000 /* without a word of the writer */

struct smb_call {
	struct smb_url url;
	struct smb_worker writer;
	uint32_t serial, max, written;
	uint64_t created;
	char *held; /* its path, or NULL */
	uint32_t held_access;
	bool runs, lost;
};

/* What the other programs say of their keys is true of the way back's. */
static char *own_keys(const char *text)
{
	GString *own = g_string_new(text);

	g_string_replace(own, "smb-password-file", "rollback-password-file", 0);
	g_string_replace(own, "smb-ccache", "rollback-ccache", 0);
	g_string_replace(own, SMB_READER, SMB_WRITER, 0);
	g_string_replace(own, "correct the URL", "correct rollback-source", 0);
	g_string_replace(own, "in the URL", "in rollback-source", 0);
	g_string_replace(own, ": it is made again", "", 0);
	return g_string_free(own, FALSE);
}

static int fail_call(struct smb_call *call, const struct wire_reply *failed)
{
	g_autofree char *said =
		failed ? smb_failure_text(&call->url, failed)
		       : g_strconcat(call->url.text, ": " SMB_WRITER " ended", NULL);
	g_autofree char *text = own_keys(said);

	if (!call->lost)
		g_warning("%s", text);
	call->lost = true;
	return -ENOTCONN;
}

/* FALSE: nothing comes any more. */
static bool receive(struct smb_call *call, struct wire_reply *reply)
{
	struct pollfd wait = {.fd = call->writer.sock, .events = POLLIN};
	ssize_t n = -1;

	do {
		int ready = poll(&wait, 1, AWAIT_MS);

		if (!ready)
			return false;
		if (ready > 0)
			n = recv(call->writer.sock, reply, sizeof(*reply),
				 MSG_DONTWAIT | MSG_TRUNC);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n == sizeof(*reply) && reply->version == WIRE_VERSION;
}

static int await_reply(struct smb_call *call, struct wire_reply *reply)
{
	do {
		if (!receive(call, reply))
			return fail_call(call, NULL);
	} while (reply->type == WIRE_ALIVE);
	if (reply->type == WIRE_FAILED)
		return fail_call(call, reply);
	if (reply->type != WIRE_REPLY || reply->slot || reply->serial != call->serial)
		return fail_call(call, NULL);
	return 0;
}

static int send_request(struct smb_call *call, struct wire_request *request,
			struct wire_reply *reply)
{
	request->serial = ++call->serial;
	if (call->lost)
		return -ENOTCONN;
	if (send(call->writer.sock, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		return fail_call(call, NULL);
	return await_reply(call, reply);
}

/* FALSE: they are too long. */
static bool put_names(struct wire_request *request, struct wire_pack *pack, const char *path,
		      const char *name)
{
	const size_t len = strlen(path), name_len = strlen(name);

	if (len > WIRE_PATH_MAX || name_len > 255)
		return false;
	request->path_len = (uint32_t)len;
	request->name_len = (uint32_t)name_len;
	wire_put(pack, path, len);
	wire_put(pack, name, name_len);
	return true;
}

static struct wire_pack pack_of(const struct smb_call *call)
{
	return (struct wire_pack){call->writer.memory, call->writer.memory + WIRE_SLOT_BYTES};
}

int smb_call_ask(struct smb_call *call, struct backend_request *req)
{
	static const uint32_t ops[] = {
		[BACKEND_GETATTR] = WIRE_GETATTR,   [BACKEND_LOOKUP] = WIRE_LOOKUP,
		[BACKEND_READDIR] = WIRE_READDIR,   [BACKEND_READ] = WIRE_READ,
		[BACKEND_READLINK] = WIRE_READLINK, [BACKEND_XATTRS] = WIRE_XATTRS};
	struct wire_request request = {.cookie = req->cookie,
				       .op = ops[req->op],
				       .offset = req->offset,
				       .count = req->count};
	struct wire_pack pack = pack_of(call);
	struct wire_reply reply;
	int ret;

	if (!put_names(&request, &pack, req->object.path, req->name ? req->name : ""))
		return -ENAMETOOLONG;
	ret = send_request(call, &request, &reply);
	call->created = ret ? 0 : reply.attr.created;
	return ret ? ret : smb_reply_decode(&reply, call->writer.memory, req);
}

void smb_call_hold(struct smb_call *call, const char *path, uint32_t access)
{
	g_free(call->held);
	call->held = g_strdup(path);
	call->held_access = access;
}

static bool is_held(const struct smb_call *call, const char *path, const char *stream,
		    const struct wire_change *change)
{
	return call->held && !*stream && !strcmp(path, call->held) && change->kind != WIRE_OPEN &&
	       !(change->access & ~call->held_access);
}

int smb_call_change(struct smb_call *call, const char *path, const char *stream,
		    const struct wire_change *change, const void *data)
{
	struct wire_request request = {.op = WIRE_CHANGE};
	struct wire_pack pack = pack_of(call);
	struct wire_reply reply;
	int ret;

	if (!put_names(&request, &pack, path, stream))
		return -ENAMETOOLONG;
	struct wire_change what = *change;
	if (is_held(call, path, stream, change))
		what.hold = WIRE_HOLD_USE;
	wire_put(&pack, &what, sizeof(what));
	wire_put(&pack, data, change->len);
	if (pack.full)
		return -EMSGSIZE;
	ret = send_request(call, &request, &reply);
	if (!ret && reply.status) {
		ret = reply.status < 0 && reply.status > -4096 ? reply.status : -EREMOTEIO;
		if (reply.code == DELETE_PENDING)
			ret = -EBUSY;
		g_debug("%s%s: status 0x%08x", path, stream, reply.code);
	}
	if (!ret && change->kind == WIRE_WRITE && reply.cookie > change->len)
		ret = -EBADMSG;
	call->written = ret ? 0 : (uint32_t)reply.cookie;
	return ret;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool await_greeting(struct smb_call *call, GError **error)
{
	struct wire_reply reply;

	do {
		if (!receive(call, &reply))
			reply.type = 0;
	} while (reply.type == WIRE_ALIVE);
	if (reply.type == WIRE_HELLO) {
		call->max = CLAMP(reply.len, 4096, WIRE_READ_MAX);
		return true;
	}
	if (reply.type != WIRE_FAILED)
		reply = (struct wire_reply){.status = WIRE_F_INTERNAL};
	g_autofree char *said = smb_failure_text(&call->url, &reply), *text = own_keys(said);
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO, text);
	return false;
}

static bool start_writer(struct smb_call *call, const struct smb_config *config, GError **error)
{
	g_autoptr(GError) mistake = NULL;
	int ret = smb_worker_log_on(&call->writer, SMB_WRITER, config, &call->url, STALL_MS,
				    &mistake);

	call->runs = !ret;
	if (!ret)
		return true;
	g_autofree char *text =
		mistake ? own_keys(mistake->message)
			: g_strdup_printf("%s: " SMB_WRITER " cannot be started: %s",
					  call->url.text, g_strerror(-ret));
	g_set_error_literal(error, G_FILE_ERROR, g_file_error_from_errno(-ret), text);
	return false;
}

struct smb_call *smb_call_open(const char *url, const struct volume_config *config, GError **error)
{
	struct smb_call *call = g_new0(struct smb_call, 1);
	struct smb_config smb = config->smb ? *config->smb : (struct smb_config){0};

	smb.password_file = config->rollback_password_file;
	smb.ccache = config->rollback_ccache;
	if (smb_url_parse(url, &call->url, error) && start_writer(call, &smb, error) &&
	    await_greeting(call, error))
		return call;
	smb_call_close(call);
	return NULL;
}

void smb_call_close(struct smb_call *call)
{
	if (call->runs)
		smb_worker_end(&call->writer);
	smb_url_clear(&call->url);
	g_free(call->held);
	g_free(call);
}

const char *smb_call_base(const struct smb_call *call)
{
	return call->url.path;
}

uint64_t smb_call_created(const struct smb_call *call)
{
	return call->created;
}

uint32_t smb_call_written(const struct smb_call *call)
{
	return call->written;
}

uint32_t smb_call_max(const struct smb_call *call)
{
	return call->max;
}
