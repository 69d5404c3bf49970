/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_mount.h"

#include <errno.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/source/nfs/nfs4_holes.h"
#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs4_proc.h"
#include "lib/source/nfs/nfs_net.h"

#define LEASE_MIN      10u
#define LEASE_MAX      3600u
#define LEASE_DEFAULT  90u
#define READ_ROUND     65536u
#define TREE_NAMES_MAX 4096	 /* of one directory */
#define VOLATILE       (2u | 8u) /* FH4_VOLATILE_ANY, FH4_VOL_RENAME */

/* One compound, made by put(), and its result. */
static int call_compound(struct nfs_mounting *m, const struct xdr_out *args, const uint8_t *start,
			 struct xdr_in *in, uint8_t **memory)
{
	return nfs_mounting_call(m, atomic_load(&m->server->nfs.port), NFS_PROGRAM, 4,
				 nfs_number_of(NFSPROC4_COMPOUND), args, start, in, memory);
}

static int set_up(struct nfs_mounting *m, struct nfs4_session *session)
{
	uint8_t args[RPC_CALL_MAX], *memory = NULL;
	struct xdr_in in = {0};
	int ret = 0;

	nfs4_reset(session);
	while (ret == 0 && session->state < NFS4_READY) {
		struct xdr_out out = {.p = args, .end = args + sizeof(args)};

		nfs4_encode_setup(session, &out);
		ret = call_compound(m, &out, args, &in, &memory);
		/* A server that answers that it does not know version 4 has answered, too. */
		if (ret == -EAGAIN || !nfs_is_away(ret))
			ret = nfs4_decode_setup(session, ret, &in);
		g_clear_pointer(&memory, g_free);
	}
	return ret;
}

/* Makes a request as the backend does it. */
static int call_request(struct nfs_mounting *m, struct nfs4_session *session,
			struct backend_request *req)
{
	struct nfs_view *view = &m->server->view;
	uint8_t args[RPC_CALL_MAX], *memory = NULL;
	struct xdr_in in = {0};
	int ret;

	backend_prepare(req);
	ret = nfs4_request_begin(view, req);
	while (ret == 0) {
		struct xdr_out out = {.p = args, .end = args + sizeof(args)};

		nfs4_request_encode(view, session, 0, req, &out);
		ret = call_compound(m, &out, args, &in, &memory);
		if (ret == 0)
			ret = nfs4_request_decode(view, session, 0, req, ret, &in);
		g_clear_pointer(&memory, g_free);
		if (ret == 0)
			break;
		ret = ret == NFS_CALL_AGAIN ? 0 : ret == NFS_CALL_RESET ? -EAGAIN : ret;
	}
	nfs4_request_end(req);
	return ret;
}

/* Whether the directory, a path from the server's root, has the name; the first names that it has
 * are put into list.  -errno: not known. */
static int list_tree(struct nfs_mounting *m, struct nfs4_session *session, char *dir,
		     const char *name, GString *list)
{
	struct backend_request req = {
		.op = BACKEND_READDIR, .object.path = dir, .names_only = true};
	bool has = false;
	guint n = 0;
	int ret;

	do {
		ret = call_request(m, session, &req);
		for (guint i = 0; ret == 0 && i < req.batch->entries->len; i++, n++) {
			const char *entry =
				g_array_index(req.batch->entries, struct source_entry, i).name;
			g_autofree char *shown = text_line(entry);

			has |= !strcmp(entry, name);
			if (n < NFS_EXPORTS_SHOWN)
				g_string_append_printf(list, "%s%s", n ? ", " : "", shown);
		}
		g_clear_pointer(&req.batch, backend_batch_free);
	} while (ret == 0 && !has && !req.eof && n < TREE_NAMES_MAX);
	if (n > NFS_EXPORTS_SHOWN)
		g_string_append_printf(list, " and %u more", n - NFS_EXPORTS_SHOWN);
	if (n == 0)
		g_string_append(list, "nothing");
	return ret ? ret : has ? 1 : req.eof ? 0 : -EFBIG;
}

/* Looks how far the server's tree has the source's path, and says in m->has what it has where the
 * path ends. */
static void say_tree(struct nfs_mounting *m, struct nfs4_session *session)
{
	const struct nfs_url *url = &m->server->url;
	struct nfs_view *view = &m->server->view;
	g_auto(GStrv) names = g_strsplit(url->path, "/", -1);
	g_autoptr(GString) dir = g_string_new(NULL), list = g_string_new(NULL);
	int found = 1;

	view->path = "";
	view->max_entries = MIN(NFS_DIR_MAX, session->max_reply - NFS4_REPLY_ROOM);
	for (char **name = names; *name && found > 0; name++) {
		if (!**name)
			continue;
		g_string_truncate(list, 0);
		found = list_tree(m, session, dir->str, *name, list);
		if (found > 0)
			g_string_append_printf(dir, "%s%s", dir->len ? "/" : "", *name);
	}
	view->path = url->path;
	g_clear_pointer(&m->has, g_free);
	if (found == 0)
		m->has = g_strdup_printf("; /%s there has %s", dir->str, list->str);
}

/* Asks for the attributes of the server itself, on the root. */
static int get_about(struct nfs_mounting *m, struct nfs4_session *session, struct nfs4_attrs *about)
{
	const struct nfs_view *view = &m->server->view;
	uint8_t args[RPC_CALL_MAX], *memory = NULL;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	uint32_t mask[NFS4_MASK_WORDS] = {0}, status;
	struct xdr_in in;
	int ret;

	nfs4_mask_add(mask, FATTR4_SUPPORTED_ATTRS);
	nfs4_mask_add(mask, FATTR4_FH_EXPIRE_TYPE);
	nfs4_mask_add(mask, FATTR4_FSID);
	nfs4_mask_add(mask, FATTR4_UNIQUE_HANDLES);
	nfs4_mask_add(mask, FATTR4_LEASE_TIME);
	nfs4_mask_add(mask, FATTR4_MAXREAD);
	if (view->minor >= 2)
		nfs4_mask_add(mask, FATTR4_XATTR_SUPPORT);
	nfs4_put_start(&out, session, 0, view->root.bytes, view->root.len, 1);
	xdr_put_u32(&out, OP_GETATTR);
	nfs4_put_mask(&out, mask);
	ret = call_compound(m, &out, args, &in, &memory);
	if (ret < 0)
		return ret;
	ret = nfs4_get_start(session, 0, false, ret, &in);
	if (ret == 0)
		ret = nfs4_get_op(&in, OP_GETATTR, &status);
	if (ret == 0 && !nfs4_get_attrs(view, true, &in, about))
		ret = -EBADMSG;
	g_free(memory);
	return ret > 0 ? -EAGAIN : ret;
}

/* Large pieces, aligned where they can be, that fit into a reply. */
static uint32_t largest_read(const struct nfs4_session *session, const struct nfs4_attrs *about)
{
	uint64_t most =
		nfs4_mask_has(about->there, FATTR4_MAXREAD) ? about->max_read : NFS_READ_MAX;

	most = MIN(most, MIN(NFS_READ_MAX, session->max_reply - NFS4_REPLY_ROOM));
	if (most > READ_ROUND)
		most -= most % READ_ROUND;
	return (uint32_t)MAX(most, 4096u);
}

static int take_about(struct nfs_mounting *m, const struct nfs4_session *session,
		      const struct nfs4_attrs *about)
{
	struct nfs_server *server = m->server;
	struct nfs_view *view = &server->view;
	const char *lacks = nfs4_mask_lacks(about->supported);

	if (lacks) {
		m->last = lacks;
		return -ENODATA;
	}
	atomic_store(&view->root_fs, about->fs);
	view->vague_handles = !about->unique_handles || (about->expire_type & VOLATILE);
	view->lease = CLAMP(about->lease ? about->lease : LEASE_DEFAULT, LEASE_MIN, LEASE_MAX);
	nfs4_mask_wanted(view->attrs, about->supported);
	view->max_read = server->max_read = largest_read(session, about);
	view->max_entries = MIN(NFS_DIR_MAX, session->max_reply - NFS4_REPLY_ROOM);
	if (view->minor >= 2 && !view->holes)
		view->holes = nfs4_holes_new();
	server->no_acl = server->url.no_acl ? "aclport=0 leaves them out"
			 : !nfs4_mask_has(about->supported, FATTR4_ACL)
				 ? "the old server does not tell them (NFS version 4)"
				 : NULL;
	server->no_xattrs = about->xattrs     ? NULL
			    : view->minor < 2 ? "NFS versions 4.0 and 4.1 do not have them"
					      : "the old server does not have them (NFS version "
						"4.2)";
	return 0;
}

static int find_root(struct nfs_mounting *m, uint32_t minor, struct source_attr *root)
{
	static char top[] = "";
	struct nfs_server *server = m->server;
	struct nfs_view *view = &server->view;
	struct nfs4_session session = {.minor = minor};
	struct backend_request req = {.op = BACKEND_GETATTR, .object.path = top};
	struct nfs4_attrs about;
	int ret;

	view->v4 = true;
	view->minor = minor;
	view->path = server->url.path;
	view->url = server->url.text;
	view->sec = server->url.sec;
	nfs4_mask_wanted(view->attrs, NULL);
	ret = set_up(m, &session);
	if (ret == 0 &&
	    (session.max_reply < 2 * NFS4_REPLY_ROOM + 4096 || session.max_ops < NFS4_OPS_MIN))
		ret = -EMSGSIZE;
	view->max_ops = session.max_ops;
	if (ret == 0)
		ret = call_request(m, &session, &req);
	if (ret == -ENOENT)
		say_tree(m, &session);
	if (ret < 0)
		return ret;
	view->root.len = req.handle_len;
	memcpy(view->root.bytes, req.handle, req.handle_len);
	ret = get_about(m, &session, &about);
	if (ret == 0)
		ret = take_about(m, &session, &about);
	if (ret == 0) /* once more: by what it supports, and with owners */
		ret = call_request(m, &session, &req);
	*root = req.attr;
	return ret == 0 && !S_ISDIR(root->mode) ? -ENOTDIR : ret;
}

int nfs4_find_root(struct nfs_mounting *m, unsigned minors, bool patient, struct source_attr *root)
{
	struct nfs_server *server = m->server;
	int ret = -ENOTSUP;

	server->nfs.version = 4;
	server->nfs.fixed = true;
	atomic_store(&server->nfs.port, server->url.nfs_port ? server->url.nfs_port : NFS_PORT);
	m->last = "its NFS service, version 4";
	if (!server->view.owners)
		server->view.owners = nfs4_owners_new(server->url.text, NULL, NULL);
	for (;;) {
		for (uint32_t n = 3; n > 0 && ret == -ENOTSUP; n--)
			if (minors & 1u << (n - 1))
				ret = find_root(m, n - 1, root);
		if (!nfs_is_away(ret) || !patient || !nfs_mounting_pause(m))
			break;
		ret = -ENOTSUP;
	}
	if (ret < 0)
		server->view.v4 = false;
	return ret;
}

int nfs4_writable(struct nfs_mounting *m)
{
	const struct nfs_view *view = &m->server->view;
	struct nfs4_session session = {.minor = view->minor};
	uint8_t args[RPC_CALL_MAX], *memory = NULL;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	uint32_t status, allowed = 0;
	struct xdr_in in;
	int ret = set_up(m, &session);

	if (ret < 0)
		return ret;
	nfs4_put_start(&out, &session, 0, view->root.bytes, view->root.len, 1);
	xdr_put_u32(&out, OP_ACCESS);
	xdr_put_u32(&out, NFS_ACCESS_CHANGE);
	ret = call_compound(m, &out, args, &in, &memory);
	if (ret == 0)
		ret = nfs4_get_start(&session, 0, false, ret, &in);
	if (ret == 0)
		ret = nfs4_get_op(&in, OP_ACCESS, &status);
	if (ret == 0) {
		xdr_get_u32(&in); /* which of them it can tell */
		allowed = xdr_get_u32(&in);
		ret = in.bad ? -EBADMSG : (allowed & NFS_ACCESS_CHANGE) != 0;
	} else if (ret > 0) {
		ret = -EAGAIN;
	}
	g_free(memory);
	return ret;
}

gboolean nfs4_explain(const struct nfs_mounting *m, int status, GError **error)
{
	const struct nfs_url *url = &m->server->url;
	const char *wants = atomic_load(&m->server->view.wants);

	switch (-status) {
	case EACCES:
		if (!wants)
			break;
		return error_set(error, -status, "%s: for %s the old server wants %s", url->text,
				 url->path, wants);
	case ENOENT:
		return error_set(error, -status,
				 "%s: the old server's tree of NFS version 4 has no "
				 "directory %s; write the path as a client mounts it by "
				 "version 4 (below the export with fsid=0, if there is one); "
				 "migratectl discover %s lists what it exports%s",
				 url->text, url->path, url->host, m->has ? m->has : "");
	case EREMOTE:
	case EREMOTEIO:
		if (!atomic_load(&m->server->view.referred))
			break;
		return error_set(error, -status,
				 "%s: the old server refers to another one for %s; write "
				 "that one's URL",
				 url->text, url->path);
	case ENOTSUP:
		return error_set(error, -status,
				 "%s: the old server does not speak NFS version %s; enable "
				 "it over TCP there, or leave version= out",
				 url->text,
				 url->minors == 1 << 0	 ? "4.0"
				 : url->minors == 1 << 1 ? "4.1"
				 : url->minors == 1 << 2 ? "4.2"
							 : "4");
	case EMSGSIZE:
		return error_set(error, -status,
				 "%s: the old server allows too little in a call by this "
				 "version of NFS; use version=3 or version=4.0",
				 url->text);
	case ENODATA:
		return error_set(error, -status,
				 "%s: the old server does not tell %s by NFS version 4; use "
				 "version 3, or another way to it",
				 url->text, m->last);
	}
	return nfs_mounting_explain(m, status, "and its firewall, or give nfsport=", error);
}
