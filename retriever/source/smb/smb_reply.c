/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb_reply.h"

#include <errno.h>
#include <netdb.h>
#include <sys/stat.h>

#include "smb_listing.h"
#include "source/refused.h"
#include "smb_text.h"

#define EPOCH	  INT64_C(116444736000000000) /* 1970 in units of 100 ns since 1601 */
#define LINK_MAX_ 4095
#define NAME_MAX_ 1536 /* of a stream */

/* The library's error numbers begin here with RFC 4120's. */
#define KRB5_BASE	 (-1765328384)
#define KRB5_NO_REALM	 (-1765328230)
#define KRB5_UNREACHABLE (-1765328228)

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
		.fs = from->volume,
		.atime = smb_time(from->accessed),
		.mtime = smb_time(from->written),
		.ctime = smb_time(from->changed),
		.elsewhere = from->attributes & (SMB_ATTR_ELSEWHERE | SMB_ATTR_REPARSE),
	};
	if (from->attributes & SMB_ATTR_REPARSE && smb_tag_is_link(from->tag))
		to->mode = S_IFLNK | 0777;
	return true;
}

/* ---- payloads; they have been copied out of the worker's reach ---- */

/* In UTF-16, as it was listed. */
static void refuse(struct backend_batch *batch, const uint8_t *name, size_t len)
{
	char text[WIRE_REFUSED_BYTES * 3 / 2];
	const char *why = REFUSED_NAME;
	long n;

	n = smb_text_from_utf16(name, len, text);
	if (n < 0)
		why = REFUSED_UNICODE;
	else if (source_name_ok(text, (size_t)n))
		why = REFUSED_CHARACTERS;
	else if (n > 255)
		why = REFUSED_LONG;
	backend_batch_refuse(batch, refused_text_utf16(name, len), why);
}

static int decode_listing(struct wire_unpack *in, struct backend_request *req)
{
	req->batch = backend_batch_new();
	while (in->at < in->end) {
		struct source_entry entry = {.has_attr = true};
		const uint8_t *raw = wire_get(in, sizeof(struct wire_attr)), *name;
		struct wire_attr attr;
		size_t len;

		if (wire_get_u32(in)) {
			name = wire_get_bytes(in, WIRE_REFUSED_BYTES, &len);
			if (!name)
				return -EBADMSG;
			refuse(req->batch, name, len);
			continue;
		}
		name = wire_get_bytes(in, 255, &len);
		if (!raw || !name)
			return -EBADMSG;
		memcpy(&attr, raw, sizeof(attr));
		if (!smb_attr_decode(&attr, &entry.attr))
			return -EBADMSG;
		backend_batch_add(req->batch, (const char *)name, len, &entry);
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

/* The file's own bytes: all of them, or they are fetched later. */
static int decode_data(struct wire_unpack *in, struct backend_request *req)
{
	uint32_t carried = wire_get_u32(in);
	size_t len;
	const uint8_t *data = wire_get_bytes(in, WIRE_DATA_MAX, &len);

	if (in->bad || (!carried && len) || len > req->count)
		return -EBADMSG;
	if (!carried || !S_ISREG(req->attr.mode) || len != req->attr.size || !len)
		return 0;
	req->xattrs->data = g_memdup2(data, len);
	req->xattrs->data_len = (uint32_t)len;
	return 0;
}

static bool are_short(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f || text[i] == '.' || g_ascii_islower(text[i]))
			return false;
	return true;
}

/* "AB12CD~E.EXT" or "ABCDE~12.EXT": how Samba calls what has a name that SMB cannot say. */
static bool is_short_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name), dot = strcspn(name, ".");

	return dot == 8 && (name[6] == '~' || name[5] == '~') && are_short(name, 8) &&
	       (len == 8 || (len > 9 && len <= 12 && are_short(name + 9, len - 9)));
}

static int decode_xattrs(const struct wire_reply *reply, struct wire_unpack *in,
			 struct backend_request *req)
{
	struct source_windows *windows = source_windows_new();
	size_t len;
	const uint8_t *sd = wire_get_bytes(in, WINDOWS_DESCRIPTOR_MAX, &len);
	uint32_t n;

	req->xattrs = source_xattrs_new();
	req->xattrs->windows = windows;
	if (in->bad || !len || !(reply->flags & WIRE_HAS_ATTR) || decode_data(in, req) < 0)
		return -EBADMSG;
	n = wire_get_u32(in);
	if (in->bad || n > WIRE_STREAMS_MAX)
		return -EBADMSG;
	windows->sd = g_memdup2(sd, len);
	windows->sd_len = (uint32_t)len;
	windows->short_name = req->object.path && is_short_name(req->object.path);
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
	int ret;

	if (!req->eof && !reply->cookie)
		return -EBADMSG;
	req->cookie = reply->cookie;
	ret = decode_listing(in, req);
	req->batch->rejected += MIN(reply->rejected, WIRE_SLOT_BYTES);
	return ret;
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
	static const int known[] = {-ENOENT,  -EAGAIN,	-EACCES,    -EPERM,
				    -ENOTDIR, -EISDIR,	-ESTALE,    -ENAMETOOLONG,
				    -EBADMSG, -ENOTSUP, -EREMOTEIO, -ENOTUNIQ};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (status == known[i])
			return status;
	return -EREMOTEIO;
}

int smb_reply_decode(const struct wire_reply *reply, const uint8_t *slot,
		     struct backend_request *req)
{
	if (reply->status == -ENOTUNIQ && req->op != BACKEND_LOOKUP)
		return -ENOENT;
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
	case WIRE_F_KERBEROS:
	case WIRE_F_GUEST:
	case WIRE_F_ENCRYPTION:
	case WIRE_F_SHARE:
	case WIRE_F_PATH:
	case WIRE_F_NOT_A_DIRECTORY:
		return true;
	case WIRE_F_TICKET:
		return (int32_t)reply->code != KRB5_UNREACHABLE;
	default:
		return false;
	}
}

bool smb_failure_locks(const struct wire_reply *reply)
{
	return reply->status == WIRE_F_LOGON &&
	       (reply->code == 0xc000006d || reply->code == 0xc000006a ||
		reply->code == 0xc0000234);
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

/* RFC 4120 7.5.9, and the library's own. */
static char *ticket_text(const struct smb_url *url, uint32_t code)
{
	static const struct {
		int32_t code;
		const char *text;
	} known[] = {
		{KRB5_BASE + 6,
		 "the realm does not know the user (any more): get a new one (kinit)"},
		{KRB5_BASE + 7, "the realm knows no server of that name: write the host into the "
				"URL as its tickets have it"},
		{KRB5_BASE + 18, "the account is disabled or locked: enable it there"},
		{KRB5_BASE + 31, "the realm has other keys meanwhile: get a new one (kinit)"},
		{KRB5_BASE + 32, "it has expired: renew it (kinit), and see why nothing does"},
		{KRB5_BASE + 37, "the clocks here and there differ: set them"},
		{KRB5_UNREACHABLE, "no KDC of the realm answers: see to /etc/krb5.conf, the name "
				   "service and the network"},
		{KRB5_NO_REALM, "the realm is not known here: see to /etc/krb5.conf"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (known[i].code == (int32_t)code)
			return g_strdup_printf("%s: no ticket for cifs/%s with that of %s: %s",
					       url->text, url->host, url->user, known[i].text);
	return g_strdup_printf("%s: no ticket for cifs/%s with that of %s (Kerberos error %d): try "
			       "kvno cifs/%s",
			       url->text, url->host, url->user, (int32_t)code, url->host);
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
	case WIRE_F_TICKET:
		return ticket_text(url, reply->code);
	case WIRE_F_KERBEROS:
		return g_strdup_printf("%s: the server did not accept the ticket of %s (status "
				       "0x%08x): see that the keytab there has the newest keys of "
				       "cifs/%s, that the server knows the user, and that the "
				       "clocks agree",
				       url->text, url->user, reply->code, url->host);
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
		if (reply->code == 0xc000035c) /* NETWORK_SESSION_EXPIRED */
			return g_strdup_printf("%s: the ticket that a connection was made with has "
					       "expired: it is made again with a new one",
					       url->text);
		return g_strdup_printf("%s: the connection was lost (status 0x%08x): it is made "
				       "again",
				       url->text, reply->code);
	default:
		return g_strdup_printf("%s: migrate-smb-worker failed (0x%08x): see its messages",
				       url->text, reply->code);
	}
}
