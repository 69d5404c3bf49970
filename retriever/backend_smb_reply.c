/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend_smb.h"

#include <errno.h>
#include <netdb.h>
#include <sys/stat.h>

#include "listing.h"

#define EPOCH	  INT64_C(116444736000000000) /* 1970 in units of 100 ns since 1601 */
#define LINK_MAX_ 4095
#define NAME_MAX_ 1536 /* of a stream */

int64_t smb_time(uint64_t nttime)
{
	int64_t ns;

	if (!nttime || nttime > INT64_MAX ||
	    __builtin_mul_overflow((int64_t)nttime - EPOCH, 100, &ns))
		return 0;
	return ns;
}

bool smb_attr_decode(const struct wire_attr *from, struct source_attr *to)
{
	bool dir = from->attributes & SMB_ATTR_DIRECTORY;

	if (from->size > INT64_MAX || !from->fileid)
		return false;
	*to = (struct source_attr){
		.mode = dir ? S_IFDIR | 0700 : S_IFREG | 0600,
		.nlink = MAX(from->nlink, 1),
		.size = dir ? 0 : from->size,
		.used = MIN(from->allocated, INT64_MAX),
		.fileid = from->fileid,
		.atime = smb_time(from->accessed),
		.mtime = smb_time(from->written),
		.ctime = smb_time(from->changed),
	};
	if (from->attributes & SMB_ATTR_REPARSE && smb_tag_is_link(from->tag))
		to->mode = S_IFLNK | 0777;
	return true;
}

/* ---- payloads; they have been copied out of the worker's reach ---- */

static int decode_listing(struct wire_unpack *in, struct backend_request *req)
{
	req->batch = backend_batch_new();
	while (in->at < in->end) {
		struct source_entry entry = {.has_attr = true};
		const uint8_t *raw = wire_get(in, sizeof(struct wire_attr)), *name;
		struct wire_attr attr;
		size_t len;

		name = wire_get_bytes(in, 255, &len);
		if (!raw || !name)
			return -EBADMSG;
		memcpy(&attr, raw, sizeof(attr));
		if (!smb_attr_decode(&attr, &entry.attr))
			return -EBADMSG;
		if (!backend_batch_add(req->batch, (const char *)name, len, &entry))
			req->rejected++;
	}
	return 0;
}

static int decode_link(struct wire_unpack *in, struct backend_request *req)
{
	size_t len = (size_t)(in->end - in->at);

	if (!len || len > LINK_MAX_ || memchr(in->at, '\0', len))
		return -EBADMSG;
	req->text = g_strndup((const char *)in->at, len);
	return 0;
}

static int decode_stream(struct wire_unpack *in, struct source_windows *windows)
{
	size_t name_len, len;
	const uint8_t *raw = wire_get_bytes(in, NAME_MAX_, &name_len), *data;
	uint64_t size = wire_get_u64(in);
	uint32_t carried = wire_get_u32(in);

	data = wire_get_bytes(in, WINDOWS_STREAM_MAX, &len);
	if (in->bad || size > INT64_MAX || (carried && len != size) ||
	    memchr(raw, '\0', name_len) ||
	    !g_utf8_validate((const char *)raw, (gssize)name_len, NULL))
		return -EBADMSG;
	g_autofree char *name = g_strndup((const char *)raw, name_len);

	source_windows_add_stream(windows, name, size, carried ? data : NULL);
	return 0;
}

static int decode_xattrs(const struct wire_reply *reply, struct wire_unpack *in,
			 struct backend_request *req)
{
	struct source_windows *windows = source_windows_new();
	size_t len;
	const uint8_t *sd = wire_get_bytes(in, WINDOWS_DESCRIPTOR_MAX, &len);
	uint32_t n = wire_get_u32(in);

	req->xattrs = source_xattrs_new();
	req->xattrs->windows = windows;
	if (in->bad || !len || n > WIRE_STREAMS_MAX || !(reply->flags & WIRE_HAS_ATTR))
		return -EBADMSG;
	windows->sd = g_memdup2(sd, len);
	windows->sd_len = (uint32_t)len;
	windows->has_sacl = reply->flags & WIRE_HAS_SACL;
	windows->streams_unknown = reply->flags & WIRE_NO_STREAMS;
	windows->attributes = reply->attr.attributes;
	windows->create_time = reply->attr.created;
	windows->ea_size = reply->attr.ea_size;
	windows->reparse_tag = reply->attr.tag;
	for (uint32_t i = 0; i < n; i++)
		if (decode_stream(in, windows) < 0)
			return -EBADMSG;
	return 0;
}

static int decode_read(const struct wire_reply *reply, const uint8_t *slot,
		       struct backend_request *req)
{
	if (reply->len > req->count || !req->has_attr)
		return -EBADMSG;
	req->data = slot;
	req->data_len = reply->len;
	req->eof = reply->flags & WIRE_EOF;
	return 0;
}

static int decode_readdir(const struct wire_reply *reply, struct wire_unpack *in,
			  struct backend_request *req)
{
	req->eof = reply->flags & WIRE_EOF;
	req->rejected = MIN(reply->rejected, WIRE_SLOT_BYTES);
	if (!req->eof && !reply->cookie)
		return -EBADMSG;
	req->cookie = reply->cookie;
	return decode_listing(in, req);
}

static int decode(const struct wire_reply *reply, const uint8_t *slot, struct backend_request *req)
{
	g_autofree uint8_t *copy = NULL;
	struct wire_unpack in;

	if (req->op == BACKEND_READ)
		return decode_read(reply, slot, req);
	copy = g_malloc(reply->len + 1); /* never NULL */
	memcpy(copy, slot, reply->len);
	in = (struct wire_unpack){copy, copy + reply->len};
	switch (req->op) {
	case BACKEND_READDIR:
		return decode_readdir(reply, &in, req);
	case BACKEND_READLINK:
		return decode_link(&in, req);
	case BACKEND_XATTRS:
		return decode_xattrs(reply, &in, req);
	default:
		return req->has_attr ? 0 : -EBADMSG;
	}
}

static int known_status(int32_t status)
{
	static const int known[] = {-ENOENT, -EAGAIN,	    -EACCES,  -EPERM,	-ENOTDIR,  -EISDIR,
				    -ESTALE, -ENAMETOOLONG, -EBADMSG, -ENOTSUP, -EREMOTEIO};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (status == known[i])
			return status;
	return -EREMOTEIO;
}

int smb_reply_decode(const struct wire_reply *reply, const uint8_t *slot,
		     struct backend_request *req)
{
	if (reply->status)
		return known_status(reply->status);
	if (reply->len > WIRE_SLOT_BYTES || reply->flags & ~(uint32_t)WIRE_FLAGS)
		return -EBADMSG;
	if (reply->flags & WIRE_HAS_ATTR) {
		if (!smb_attr_decode(&reply->attr, &req->attr))
			return -EBADMSG;
		req->has_attr = true;
	}
	return decode(reply, slot, req);
}

/* ---- failures ---- */

bool smb_failure_is_final(const struct wire_reply *reply)
{
	switch (reply->status) {
	case WIRE_F_LOGON:
	case WIRE_F_GUEST:
	case WIRE_F_ENCRYPTION:
	case WIRE_F_SHARE:
	case WIRE_F_PATH:
	case WIRE_F_NOT_A_DIRECTORY:
		return true;
	default:
		return false;
	}
}

/* The statuses that administrators meet, MS-ERREF 2.3.1. */
static const char *logon_reason(uint32_t status)
{
	static const struct {
		uint32_t status;
		const char *text;
	} known[] = {
		{0xc000006d, "wrong user name or password: correct the user in the URL or the file "
			     "of smb-password-file"},
		{0xc000006a, "wrong password: correct the file of smb-password-file"},
		{0xc0000064, "no such user: correct the user in the URL"},
		{0xc0000071, "the password has expired: set a new one there"},
		{0xc0000224, "the password must be changed first: set a new one there"},
		{0xc0000072, "the account is disabled: enable it there"},
		{0xc0000234, "the account is locked: unlock it there"},
		{0xc000015b, "the user may not log on there over the network: grant that right"},
		{0xc000006e, "the account is restricted there: allow it to log on"},
		{0xc0000022, "access denied: correct the user or the password, or smb-signing"},
		{0xc000018b, "the server's domain does not know it: see to its domain membership"},
		{0xc000005e, "the server finds no domain controller: see to its domain"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (known[i].status == status)
			return known[i].text;
	return NULL;
}

static char *logon_text(const struct smb_url *url, uint32_t code)
{
	const char *reason = logon_reason(code);

	if (reason)
		return g_strdup_printf("%s: the server refused the log-on of %s%s%s: %s", url->text,
				       url->domain, *url->domain ? "\\" : "", url->user, reason);
	return g_strdup_printf("%s: the server refused the log-on of %s%s%s (status 0x%08x): see "
			       "its log",
			       url->text, url->domain, *url->domain ? "\\" : "", url->user, code);
}

static char *share_text(const struct smb_url *url, uint32_t code)
{
	if (code == 0xc00000cc) /* BAD_NETWORK_NAME */
		return g_strdup_printf("%s: the server has no share \"%s\": correct the URL",
				       url->text, url->share);
	if (code == 0xc0000022)
		return g_strdup_printf("%s: %s may not use the share \"%s\": permit it there",
				       url->text, url->user, url->share);
	return g_strdup_printf("%s: the server refused the share \"%s\" (status 0x%08x): see its "
			       "log",
			       url->text, url->share, code);
}

static char *path_text(const struct smb_url *url, uint32_t code)
{
	if (code == 0xc0000022)
		return g_strdup_printf("%s: %s may not read \"%s\" there: permit it, best as a "
				       "member of the server's backup operators",
				       url->text, url->user, url->path);
	if (code == 0xc0000034 || code == 0xc000003a || code == 0xc0000033)
		return g_strdup_printf("%s: there is no directory \"%s\" in the share: correct "
				       "the URL",
				       url->text, url->path);
	return g_strdup_printf("%s: \"%s\" cannot be opened (status 0x%08x): correct the URL or "
			       "see the server's log",
			       url->text, url->path, code);
}

char *smb_failure_text(const struct smb_url *url, const struct wire_reply *reply)
{
	switch (reply->status) {
	case WIRE_F_RESOLVE:
		return g_strdup_printf("%s: the host \"%s\" is not known (%s): correct the URL or "
				       "the name service",
				       url->text, url->host, gai_strerror((int)reply->code));
	case WIRE_F_CONNECT:
		return g_strdup_printf("%s: no connection to port %u (%s): see that the server "
				       "runs and no firewall is between",
				       url->text, url->port,
				       g_strerror((int)(reply->code & 0xfff)));
	case WIRE_F_NEGOTIATE:
		return g_strdup_printf("%s: the server does not speak SMB 2 or 3 (status 0x%08x); "
				       "SMB 1 is not spoken here: turn on SMB 2 there",
				       url->text, reply->code);
	case WIRE_F_LOGON:
		return logon_text(url, reply->code);
	case WIRE_F_GUEST:
		return g_strdup_printf("%s: the server took %s for a guest: name a user that it "
				       "knows, with the right password",
				       url->text, url->user);
	case WIRE_F_ENCRYPTION:
		return g_strdup_printf("%s: the server cannot encrypt (status 0x%08x): turn that "
				       "on there (SMB 3), or set smb-encryption = off",
				       url->text, reply->code);
	case WIRE_F_SHARE:
		return share_text(url, reply->code);
	case WIRE_F_PATH:
		return path_text(url, reply->code);
	case WIRE_F_NOT_A_DIRECTORY:
		return g_strdup_printf("%s: \"%s\" is not a directory there: correct the URL",
				       url->text, url->path);
	case WIRE_F_LOST:
		return g_strdup_printf("%s: the connection was lost (status 0x%08x): it is made "
				       "again",
				       url->text, reply->code);
	default:
		return g_strdup_printf("%s: migrate-smb-worker failed (0x%08x): see its messages",
				       url->text, reply->code);
	}
}
