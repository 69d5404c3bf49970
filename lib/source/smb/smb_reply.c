/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_reply.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/text.h"
#include "lib/source/smb/smb_listing.h"
#include "lib/source/smb/smb_text.h"

#define EPOCH	  INT64_C(116444736000000000) /* 1970 in units of 100 ns since 1601 */
#define STEPS	  INT64_C(10000000)
#define LINK_MAX_ 4095
#define NAME_MAX_ 1536 /* of a stream */

/* The library's error numbers begin here with RFC 4120's. */
#define KRB5_BASE	 (-1765328384)
#define KRB5_NO_REALM	 (-1765328230)
#define KRB5_UNREACHABLE (-1765328228)

static int64_t far_time(uint64_t nttime, int64_t *far)
{
	int64_t steps, seconds;

	*far = 0;
	if (!nttime || nttime >= INT64_MAX) /* never */
		return 0;
	steps = (int64_t)nttime - EPOCH;
	seconds = steps / STEPS - (steps % STEPS < 0);
	return source_time(seconds, (uint32_t)(steps - seconds * STEPS) * 100, far);
}

int64_t smb_time(uint64_t nttime)
{
	int64_t far;

	return far_time(nttime, &far);
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
		.ctime = smb_time(from->changed),
		.no_ctime = from->changed == from->written, /* always so with Samba */
		.elsewhere = from->attributes & (SMB_ATTR_ELSEWHERE | SMB_ATTR_REPARSE),
	};
	to->atime = far_time(from->accessed, &to->far_atime);
	to->mtime = far_time(from->written, &to->far_mtime);
	if (from->attributes & SMB_ATTR_REPARSE && smb_tag_is_link(from->tag))
		to->mode = S_IFLNK | 0777;
	return true;
}

/* ---- payloads, which have been copied out of the worker's reach ---- */

/* In UTF-16, as it was listed. */
static void refuse_name(struct backend_batch *batch, const uint8_t *name, size_t len)
{
	char text[WIRE_REFUSED_BYTES * 3 / 2];
	enum error_code why = QM_NAME_IMPOSSIBLE;
	long n;

	n = smb_text_from_utf16(name, len, text);
	if (n < 0)
		why = QM_NAME_NO_TEXT;
	else if (source_name_ok(text, (size_t)n))
		why = QM_NAME_CHARACTERS;
	else if (n > 255)
		why = QM_NAME_LONG;
	backend_batch_refuse(batch, text_name_utf16(name, len), why);
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
			refuse_name(req->batch, name, len);
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

/* The file's own bytes: all of them, or none, and then they are fetched later. */
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

/* "AB12CD~E.EXT" or "ABCDE~12.EXT": how Samba names an object whose own name SMB cannot express. */
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
	windows->more_streams = reply->flags & WIRE_MORE_STREAMS;
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

static int decode_payload(const struct wire_reply *reply, const uint8_t *slot,
			  struct backend_request *req)
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
	return decode_payload(reply, slot, req);
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

#define BAD_NETWORK_NAME 0xc00000cc

bool smb_failure_lacks_share(const struct wire_reply *reply)
{
	return reply->status == WIRE_F_SHARE && reply->code == BAD_NETWORK_NAME;
}

#define LOGON	     "the server refused the log-on of $LOGIN"
#define TICKET	     "no ticket for cifs/$HOST with that of $USER"
#define NO_DIRECTORY "there is no directory \"$PATH\" in the share: correct the URL"

#define NO_VERSION                                                                                 \
	"the connection ended before the server told its version (status $CODE): see that it "     \
	"runs, and does not just start; if it stays so, turn on SMB 2 there (SMB 1 is not spoken " \
	"here)"

#define ACCESS_DENIED	0xc0000022
#define IO_TIMEOUT	0xc00000b5
#define DISCONNECTED	0xc000020c /* CONNECTION_DISCONNECTED, _RESET, _ABORTED */
#define RESET		0xc000020d
#define ABORTED		0xc0000241
#define SESSION_EXPIRED 0xc000035c /* NETWORK_SESSION_EXPIRED */

/* By the failure and its code, 0 for any other: the statuses that administrators meet (MS-ERREF
 * 2.3.1), and for tickets RFC 4120 7.5.9 and the library's own. */
static const struct {
	int32_t failure;
	uint32_t code;
	const char *text;
} failures[] = {
	{WIRE_F_RESOLVE, 0,
	 "the host \"$HOST\" is not known ($RESOLVER): correct the URL or the name service"},
	{WIRE_F_CONNECT, 0,
	 "no connection to port $PORT ($ERRNO): see that the server runs and no firewall is "
	 "between"},
	{WIRE_F_NEGOTIATE, IO_TIMEOUT,
	 "the server takes a connection and does not answer: see that it is well"},
	/* as a server does that ends, and one that speaks SMB 1 alone */
	{WIRE_F_NEGOTIATE, DISCONNECTED, NO_VERSION},
	{WIRE_F_NEGOTIATE, RESET, NO_VERSION},
	{WIRE_F_NEGOTIATE, ABORTED, NO_VERSION},
	{WIRE_F_NEGOTIATE, 0,
	 "the server does not speak SMB 2 or 3 (status $CODE); SMB 1 is not spoken here: turn on "
	 "SMB 2 there"},
	{WIRE_F_LOGON, 0xc000006d,
	 LOGON ": wrong user name or password: correct the user in the URL or the file of "
	       "smb-password-file"},
	{WIRE_F_LOGON, 0xc000006a, LOGON ": wrong password: correct the file of smb-password-file"},
	{WIRE_F_LOGON, 0xc0000064, LOGON ": no such user: correct the user in the URL"},
	{WIRE_F_LOGON, 0xc0000071, LOGON ": the password has expired: set a new one there"},
	{WIRE_F_LOGON, 0xc0000224,
	 LOGON ": the password must be changed first: set a new one there"},
	{WIRE_F_LOGON, 0xc0000072, LOGON ": the account is disabled: enable it there"},
	{WIRE_F_LOGON, 0xc0000234, LOGON ": the account is locked: unlock it there"},
	{WIRE_F_LOGON, 0xc000015b,
	 LOGON ": the user may not log on there over the network: grant that right"},
	{WIRE_F_LOGON, 0xc000006e, LOGON ": the account is restricted there: allow it to log on"},
	{WIRE_F_LOGON, 0xc0000022,
	 LOGON ": access denied: correct the user or the password, or smb-signing"},
	{WIRE_F_LOGON, 0xc000018b,
	 LOGON ": the server's domain does not know it: see to its domain membership"},
	{WIRE_F_LOGON, 0xc000005e,
	 LOGON ": the server finds no domain controller: see to its domain"},
	{WIRE_F_LOGON, 0, LOGON " (status $CODE): see its log"},
	{WIRE_F_GUEST, 0,
	 "the server took $USER for a guest: name a user that it knows, with the right password"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 6,
	 TICKET ": the realm does not know the user (any more): get a new one (kinit)"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 7,
	 TICKET ": the realm knows no server of that name: write the host into the URL as its "
		"tickets have it"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 18,
	 TICKET ": the account is disabled or locked: enable it there"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 31,
	 TICKET ": the realm has other keys meanwhile: get a new one (kinit)"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 32,
	 TICKET ": it has expired: renew it (kinit), and see why nothing does"},
	{WIRE_F_TICKET, (uint32_t)KRB5_BASE + 37,
	 TICKET ": the clocks here and there differ: set them"},
	{WIRE_F_TICKET, (uint32_t)KRB5_UNREACHABLE,
	 TICKET ": no KDC of the realm answers: see to /etc/krb5.conf, the name service and the "
		"network"},
	{WIRE_F_TICKET, (uint32_t)KRB5_NO_REALM,
	 TICKET ": the realm is not known here: see to /etc/krb5.conf"},
	{WIRE_F_TICKET, 0, TICKET " (Kerberos error $NUMBER): try kvno cifs/$HOST"},
	{WIRE_F_KERBEROS, 0,
	 "the server did not accept the ticket of $USER (status $CODE): see that the keytab there "
	 "has the newest keys of cifs/$HOST, that the server knows the user, and that the clocks "
	 "agree"},
	{WIRE_F_ENCRYPTION, 0,
	 "the server cannot encrypt (status $CODE): turn that on there (SMB 3), or set "
	 "smb-encryption = off"},
	{WIRE_F_SHARE, BAD_NETWORK_NAME,
	 "the server has no share \"$SHARE\": correct the URL (migratectl discover "
	 "$HOST lists its shares)"},
	{WIRE_F_SHARE, ACCESS_DENIED, "$USER may not use the share \"$SHARE\": permit it there"},
	{WIRE_F_SHARE, 0, "the server refused the share \"$SHARE\" (status $CODE): see its log"},
	{WIRE_F_PATH, ACCESS_DENIED,
	 "$USER may not read \"$PATH\" there: permit it, best as a member of the server's backup "
	 "operators"},
	{WIRE_F_PATH, 0xc0000034, NO_DIRECTORY},
	{WIRE_F_PATH, 0xc000003a, NO_DIRECTORY},
	{WIRE_F_PATH, 0xc0000033, NO_DIRECTORY},
	{WIRE_F_PATH, 0,
	 "\"$PATH\" cannot be opened (status $CODE): correct the URL or see the server's log"},
	{WIRE_F_NOT_A_DIRECTORY, 0, "\"$PATH\" is not a directory there: correct the URL"},
	{WIRE_F_LOST, SESSION_EXPIRED,
	 "the ticket that a connection was made with has expired: it is made again with a new "
	 "one"},
	{WIRE_F_LOST, 0, "the connection was lost (status $CODE): it is made again"},
	{0, 0, "migrate-smb-worker failed ($CODE): see its messages"},
};

char *smb_failure_text(const struct smb_url *url, const struct wire_reply *reply)
{
	g_autofree char *code = g_strdup_printf("0x%08x", reply->code);
	g_autofree char *number = g_strdup_printf("%d", (int32_t)reply->code);
	g_autofree char *port = g_strdup_printf("%u", url->port);
	g_autofree char *login =
		g_strconcat(url->domain ? url->domain : "", url->domain && *url->domain ? "\\" : "",
			    url->user, NULL);
	char error[64]; /* g_strerror() shares its texts by a lock of GLib (backend.h) */
	const char *const values[][2] = {
		{"$CODE", code},
		{"$NUMBER", number},
		{"$RESOLVER", gai_strerror((int)reply->code)},
		{"$ERRNO", strerror_r((int)(reply->code & 0xfff), error, sizeof(error))},
		{"$PORT", port},
		{"$LOGIN", login},
		{"$USER", url->user},
		{"$HOST", url->host},
		{"$SHARE", url->share},
		{"$PATH", url->path},
	};
	GString *text;
	size_t i = 0;

	while (failures[i].failure && (failures[i].failure != reply->status ||
				       (failures[i].code && failures[i].code != reply->code)))
		i++;
	text = g_string_new(failures[i].text);
	for (size_t v = 0; v < G_N_ELEMENTS(values); v++)
		g_string_replace(text, values[v][0], values[v][1] ? values[v][1] : "", 0);
	g_string_prepend(text, ": ");
	g_string_prepend(text, url->text);
	return g_string_free(text, FALSE);
}
