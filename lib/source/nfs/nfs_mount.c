/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the root's handle of a URL.  Only this step may fail: a server that refuses fails it at
 * once, and a server that is away after half a minute.
 */
#include <errno.h>
#include <netdb.h>

#include "lib/source/nfs/nfs4_holes.h"
#include "lib/source/nfs/nfs4_mount.h"
#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs4_xattr.h"
#include "lib/source/nfs/nfs_acl.h"
#include "lib/source/nfs/nfs_net.h"

#define MOUNTPROC3_MNT	  1
#define MOUNTPROC3_EXPORT 5
#define MNT_PATH_MAX	  1024 /* MNTPATHLEN, RFC 1813 section 5.1.2 */
#define OPEN_SECONDS	  30
#define ASK_SECONDS	  5
#define CALL_SECONDS	  10
#define V3_SECONDS	  10 /* before version 4 is tried */
#define PAUSE_US	  (250 * 1000)
#define AUTH_SYS_FLAVOR	  1
#define KRB5_FLAVOR	  390003 /* then krb5i, krb5p */
#define MAX_FLAVORS	  64

/* Asks again while the server is away. */
static int call_until(struct nfs_mounting *m, const char *what, unsigned port, uint32_t program,
		      uint32_t procedure, const struct xdr_out *args, const uint8_t *start,
		      struct xdr_in *in, uint8_t **memory)
{
	m->last = what;
	for (;;) {
		int ret = nfs_mounting_call(m, port, program, NFS_VERSION, procedure, args, start,
					    in, memory);

		if (!nfs_is_away(ret) || !nfs_mounting_pause(m))
			return ret;
	}
}

static gboolean resolve_host(struct nfs_server *server, gint64 deadline, GError **error)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	size_t n = 0;
	int ret;

	for (;;) {
		ret = getaddrinfo(server->url.host, NULL, &hints, &found);
		if (ret != EAI_AGAIN || g_get_monotonic_time() + PAUSE_US > deadline)
			break;
		g_usleep(PAUSE_US);
	}
	if (ret != 0)
		return error_set(error, EHOSTUNREACH,
				 "%s: the name %s cannot be resolved (%s); check the name or "
				 "write an address",
				 server->url.text, server->url.host, gai_strerror(ret));
	for (struct addrinfo *ai = found; ai; ai = ai->ai_next)
		n++;
	server->addresses = g_new0(struct nfs_address, n);
	for (struct addrinfo *ai = found; ai; ai = ai->ai_next) {
		struct nfs_address *address = &server->addresses[server->n_addresses];

		if (ai->ai_addrlen > sizeof(address->addr) ||
		    (ai->ai_family != AF_INET && ai->ai_family != AF_INET6))
			continue;
		memcpy(&address->addr, ai->ai_addr, ai->ai_addrlen);
		address->len = ai->ai_addrlen;
		server->n_addresses++;
	}
	freeaddrinfo(found);
	if (server->n_addresses > 0)
		return TRUE;
	return error_set(error, EHOSTUNREACH, "%s: %s has no internet address", server->url.text,
			 server->url.host);
}

/* The port of a program: what the URL says, else what rpcbind says, else what is usual. */
static int find_port(struct nfs_mounting *m, const char *what, uint32_t program, unsigned given,
		     unsigned usual, unsigned *port)
{
	struct nfs_server *server = m->server;

	*port = given;
	if (given)
		return 0;
	m->last = what;
	for (;;) {
		gint64 now = g_get_monotonic_time();
		int ret = nfs_ask_port(server, program, NFS_VERSION,
				       MIN(m->deadline, now + CALL_SECONDS * G_USEC_PER_SEC), -1,
				       port);

		if (ret == 0)
			return 0;
		/* Not registered may mean: not yet. */
		if ((!nfs_is_away(ret) && ret != -ENOENT) || (usual && ret == -ECONNREFUSED) ||
		    !nfs_mounting_pause(m)) {
			*port = usual;
			return usual ? 0 : ret;
		}
	}
}

/* What MNT tells of a flavour (RFC 2623 section 2.2.1). */
static uint32_t flavour_of(enum nfs_sec sec)
{
	return sec == NFS_SEC_SYS ? AUTH_SYS_FLAVOR : KRB5_FLAVOR - 1 + (uint32_t)sec;
}

/* MNT of one path: 0, -ENOTSUP without our flavour, else the -errno of its status. */
static int mount_path(struct nfs_mounting *m, unsigned port, const char *path,
		      struct nfs_handle *handle)
{
	uint8_t args[4 + MNT_PATH_MAX], *memory = NULL;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct xdr_in in;
	uint32_t status, flavors;
	bool ours = false;
	int ret;

	xdr_put_bytes(&out, path, (uint32_t)strlen(path));
	ret = call_until(m, "its mount service", port, MOUNT_PROGRAM, MOUNTPROC3_MNT, &out, args,
			 &in, &memory);
	if (ret < 0)
		return ret;
	status = xdr_get_u32(&in);
	if (status == 0 && nfs_get_handle(&in, handle)) {
		flavors = xdr_get_u32(&in);
		ours = flavors == 0;
		for (uint32_t i = 0; i < MIN(flavors, MAX_FLAVORS) && !in.bad; i++)
			ours |= xdr_get_u32(&in) == flavour_of(m->server->url.sec);
		ret = in.bad ? -EBADMSG : ours ? 0 : -ENOTSUP;
	} else {
		/* mountstat3 and nfsstat3 agree in what they share. */
		ret = in.bad || status == 0 ? -EBADMSG : nfs_status(status);
	}
	g_free(memory);
	return ret;
}

/* One NFS call on a handle (and a name). */
static int nfs_on(struct nfs_mounting *m, enum nfs_procedure procedure,
		  const struct nfs_handle *handle, const char *name, size_t name_len,
		  struct xdr_in *in, uint8_t **memory)
{
	uint8_t args[4 + NFS3_FHSIZE + 4 + 256];
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	int ret;

	xdr_put_bytes(&out, handle->bytes, handle->len);
	if (name)
		xdr_put_bytes(&out, name, (uint32_t)name_len);
	do {
		ret = call_until(m, "its NFS service", atomic_load(&m->server->nfs.port),
				 NFS_PROGRAM, procedure, &out, args, in, memory);
		if (ret < 0)
			return ret;
		ret = nfs_status(xdr_get_u32(in));
		if (in->bad)
			ret = -EBADMSG;
		if (ret < 0)
			g_clear_pointer(memory, g_free);
		if (ret == -EAGAIN)
			g_usleep(PAUSE_US);
	} while (ret == -EAGAIN && g_get_monotonic_time() < m->deadline);
	return ret;
}

/* Down from a mounted parent. */
static int walk_down(struct nfs_mounting *m, struct nfs_handle *handle, const char *rest)
{
	rest += strspn(rest, "/");
	while (*rest) {
		size_t len = strcspn(rest, "/");
		uint8_t *memory = NULL;
		struct xdr_in in;
		int ret;

		if (!source_name_ok(rest, len))
			return -ENAMETOOLONG;
		ret = nfs_on(m, NFSPROC3_LOOKUP, handle, rest, len, &in, &memory);
		if (ret == 0 && !nfs_get_handle(&in, handle))
			ret = -EBADMSG;
		g_free(memory);
		if (ret < 0)
			return ret;
		rest += len;
		rest += strspn(rest, "/");
	}
	return 0;
}

/*
 * Servers differ in whether a directory below an export can be mounted.  The status of the first
 * refusal counts, unless a parent was mounted.
 */
static int mount_or_walk(struct nfs_mounting *m, unsigned port, struct nfs_handle *handle)
{
	const char *path = m->server->url.path;
	g_autofree char *parent = g_strdup(path);
	int first = mount_path(m, port, parent, handle), ret = first;

	while (ret < 0 && !nfs_is_away(ret) && parent[1] != '\0') {
		char *slash = strrchr(parent, '/');

		slash[slash == parent] = '\0';
		ret = mount_path(m, port, parent, handle);
		if (ret == 0)
			return walk_down(m, handle, path + strlen(parent));
	}
	return ret == 0 ? 0 : first;
}

static bool is_exported_by(const char *path, const char *export)
{
	const size_t len = strlen(export);

	return !strcmp(export, "/") ||
	       (g_str_has_prefix(path, export) && (!path[len] || path[len] == '/'));
}

/* exportnode of RFC 1813 section 5.2.5: a path, and names of groups. */
static char *next_export(struct xdr_in *in)
{
	uint32_t len, skipped;
	const uint8_t *path = xdr_get_bytes(in, &len);

	while (!in->bad && xdr_get_u32(in))
		xdr_get_bytes(in, &skipped);
	return in->bad ? NULL : g_strndup((const char *)path, len);
}

/* What the server exports, if the path is not in an export; g_free.  NULL: the path is, or the
 * server does not tell. */
static char *say_exports(struct nfs_mounting *m, unsigned port)
{
	uint8_t args[4], *memory = NULL;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct xdr_in in;
	GString *list = g_string_new(NULL);
	unsigned n = 0;
	bool has = call_until(m, "its mount service", port, MOUNT_PROGRAM, MOUNTPROC3_EXPORT, &out,
			      args, &in, &memory) < 0;

	while (!has && xdr_get_u32(&in)) {
		g_autofree char *export = next_export(&in);

		has = !export || is_exported_by(m->server->url.path, export);
		if (export && n++ < NFS_EXPORTS_SHOWN)
			g_string_append_printf(list, "%s%s", n > 1 ? ", " : "", export);
	}
	has = has || in.bad;
	g_free(memory);
	if (n > NFS_EXPORTS_SHOWN)
		g_string_append_printf(list, " and %u more", n - NFS_EXPORTS_SHOWN);
	char *text = has ? NULL
		     : n ? g_strdup_printf("the old server does not export %s; it exports %s",
					   m->server->url.path, list->str)
			 : g_strdup("the old server exports nothing");
	g_string_free(list, TRUE);
	return text;
}

static gboolean explain_status(struct nfs_mounting *m, int status, GError **error)
{
	const struct nfs_url *url = &m->server->url;

	if (m->why)
		return nfs_mounting_explain(m, status, "", error);
	switch (-status) {
	case ENOENT:
		return error_set(error, -status,
				 "%s: the old server has no export or directory %s; see "
				 "what it exports with: showmount -e %s",
				 url->text, url->path, url->host);
	case ENOTSUP:
		return error_set(error, -status,
				 "%s: the old server does not take %s for %s; allow it in "
				 "its export, or write another one of sec=sys, krb5, krb5i "
				 "and krb5p",
				 url->text, url->sec ? "that sec=" : "AUTH_SYS (sec=sys)",
				 url->path);
	case EAGAIN:
		return error_set(error, -status,
				 "%s: the old server does not run NFS version 3, or is "
				 "still starting; enable version 3 over TCP there",
				 url->text);
	}
	return nfs_mounting_explain(
		m, status, "its rpcbind and firewall, or give nfsport= and mountport=", error);
}

static int get_root_attr(struct nfs_mounting *m, struct source_attr *attr)
{
	struct nfs_view *view = &m->server->view;
	uint8_t *memory = NULL;
	struct xdr_in in;
	uint64_t fs = 0;
	int ret = nfs_on(m, NFSPROC3_GETATTR, &view->root, NULL, 0, &in, &memory);

	if (ret == 0 && !nfs_get_attr(&in, &fs, attr))
		ret = -EBADMSG;
	atomic_store(&view->root_fs, fs);
	g_free(memory);
	if (ret == 0 && !S_ISDIR(attr->mode))
		ret = -ENOTDIR;
	return ret;
}

/* FSINFO3resok (RFC 1813 section 3.3.19): rtmax is its first number after the attributes. */
static int get_max_read(struct nfs_mounting *m)
{
	struct nfs_server *server = m->server;
	uint8_t *memory = NULL;
	struct source_attr attr;
	struct xdr_in in;
	uint64_t fs;
	uint32_t rtmax;
	int ret = nfs_on(m, NFSPROC3_FSINFO, &server->view.root, NULL, 0, &in, &memory);

	if (ret < 0)
		return ret;
	if (xdr_get_u32(&in))
		nfs_get_attr(&in, &fs, &attr);
	rtmax = xdr_get_u32(&in);
	server->max_read = in.bad ? 32768 : CLAMP(rtmax, 4096, NFS_READ_MAX);
	g_free(memory);
	return 0;
}

/* Makes GETACL of the root at that port.  patient: again while the server is away. */
static int ask_acl(struct nfs_mounting *m, unsigned port, bool patient)
{
	struct nfs_server *server = m->server;
	uint8_t args[4 + NFS3_FHSIZE + 4], *memory = NULL;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct xdr_in in;
	int ret;

	xdr_put_bytes(&out, server->view.root.bytes, server->view.root.len);
	nfsacl_encode(&out);
	m->last = "its ACL service";
	for (;;) {
		bool again;

		ret = nfs_mounting_call(m, port, NFSACL_PROGRAM, NFS_VERSION,
					nfs_number_of(NFSACLPROC3_GETACL), &out, args, &in,
					&memory);
		/* The server answers NFS: a program that is not there now will not come. */
		if (ret == -EAGAIN)
			return -ENOTSUP;
		again = nfs_is_away(ret) && patient;
		if (ret == 0) {
			ret = nfsacl_probe(&server->view, &in);
			again = ret == -EAGAIN;
			g_clear_pointer(&memory, g_free);
		}
		if (!again || g_get_monotonic_time() + PAUSE_US > m->deadline)
			return ret;
		g_usleep(PAUSE_US);
	}
}

static void set_acl(struct nfs_server *server, unsigned port, bool fixed)
{
	atomic_store(&server->acl.port, port);
	server->acl.fixed = fixed;
	server->acl_apart = port != atomic_load(&server->nfs.port);
}

/* Where the URL names a port for ACLs, the server must have them; otherwise they are taken if it
 * has them. */
static gboolean find_given_acl(struct nfs_mounting *m, GError **error)
{
	struct nfs_server *server = m->server;
	int ret = ask_acl(m, server->url.acl_port, true);

	if (ret == 0) {
		set_acl(server, server->url.acl_port, true);
		return TRUE;
	}
	return error_set(error, -ret,
			 "%s: no ACLs can be had at aclport=%u (%s); correct that port, or write "
			 "aclport=0 to go without ACLs",
			 server->url.text, server->url.acl_port, g_strerror(-ret));
}

static int find_acl(struct nfs_mounting *m)
{
	struct nfs_server *server = m->server;
	const unsigned nfs_port = atomic_load(&server->nfs.port);
	const gint64 until =
		MIN(m->deadline, g_get_monotonic_time() + CALL_SECONDS * G_USEC_PER_SEC);
	unsigned port;
	int ret;

	/* An administrator who names the port of NFS may be unable to reach rpcbind. */
	if (!server->url.nfs_port &&
	    nfs_ask_port(server, NFSACL_PROGRAM, NFS_VERSION, until, -1, &port) == 0 &&
	    port != nfs_port && ask_acl(m, port, false) == 0) {
		set_acl(server, port, false);
		return 0;
	}
	ret = ask_acl(m, nfs_port, true);
	if (ret == 0)
		set_acl(server, nfs_port, server->url.nfs_port);
	else if (!nfs_is_away(ret))
		server->no_acl = ret == -ENOTSUP ? "the old server does not tell them (NFSACL)"
						 : "the old server fails to tell them (NFSACL)";
	return nfs_is_away(ret) ? ret : 0;
}

static gboolean open_acl(struct nfs_mounting *m, GError **error)
{
	struct nfs_server *server = m->server;
	int ret;

	if (server->url.no_acl) {
		server->no_acl = "aclport=0 leaves them out";
		return TRUE;
	}
	if (server->url.acl_port)
		return find_given_acl(m, error);
	ret = find_acl(m);
	return ret == 0 || explain_status(m, ret, error);
}

static int call_v4(struct nfs_mounting *m, const struct xdr_out *args, const uint8_t *start,
		   struct xdr_in *in, uint8_t **memory)
{
	return nfs_mounting_call(m, atomic_load(&m->server->nfs.port), NFS_PROGRAM, 4,
				 nfs_number_of(NFSPROC4_COMPOUND), args, start, in, memory);
}

/* Makes a session, and finds out whether the root's handle of version 3 is the root's in version
 * 4.2, too. */
static int try_v4(struct nfs_mounting *m, uint64_t root_fileid)
{
	uint8_t args[512], *memory = NULL;
	struct nfs4_session session = {.minor = NFS4_XATTR_MINOR};
	struct xdr_out out;
	struct xdr_in in = {0};
	int ret = 0;

	nfs4_reset(&session);
	while (ret == 0 && session.state < NFS4_READY) {
		out = (struct xdr_out){.p = args, .end = args + sizeof(args)};
		nfs4_encode_setup(&session, &out);
		ret = call_v4(m, &out, args, &in, &memory);
		/* A server that answers that it does not know version 4 has answered, too. */
		if (ret == -EAGAIN || !nfs_is_away(ret))
			ret = nfs4_decode_setup(&session, ret, &in);
		g_clear_pointer(&memory, g_free);
	}
	if (ret < 0)
		return ret;
	out = (struct xdr_out){.p = args, .end = args + sizeof(args)};
	nfs4_encode_proof(&session, &m->server->view.root, &out);
	ret = call_v4(m, &out, args, &in, &memory);
	if (ret == 0)
		ret = nfs4_decode_proof(&session, root_fileid, ret, &in);
	g_free(memory);
	return ret;
}

static gboolean open_xattrs(struct nfs_mounting *m, uint64_t root_fileid, GError **error)
{
	struct nfs_server *server = m->server;
	int ret;

	if (server->url.only_v3) {
		server->no_xattrs = "NFS version 3 does not have them";
		return TRUE;
	}
	m->last = "NFS version 4.2, which version=3 leaves out";
	do {
		ret = try_v4(m, root_fileid);
		if (nfs_is_away(ret))
			g_usleep(PAUSE_US);
	} while (nfs_is_away(ret) && g_get_monotonic_time() < m->deadline);
	if (nfs_is_away(ret))
		return explain_status(m, ret, error);
	if (ret == 0)
		atomic_store(&server->v4.port, atomic_load(&server->nfs.port));
	else
		server->no_xattrs = ret == -ENOTSUP
					    ? "the old server does not tell them (NFS version 4.2)"
					    : "the old server fails to tell them (NFS version 4.2)";
	return TRUE;
}

static void set_services(struct nfs_server *server)
{
	server->nfs.program = NFS_PROGRAM;
	server->nfs.version = server->acl.version = NFS_VERSION;
	server->v4 = (struct nfs_service){
		.program = NFS_PROGRAM, .version = 4, .fixed = server->url.nfs_port};
	server->nfs.fixed = server->url.nfs_port;
	server->nfs.probe = BACKEND_GETATTR;
	server->acl.program = NFSACL_PROGRAM;
	server->acl.probe = BACKEND_XATTRS;
}

/* By version 3.  -ENXIO: rpcbind knows no mount service. */
static int find_root(struct nfs_mounting *m, struct source_attr *root)
{
	struct nfs_server *server = m->server;
	unsigned mount_port, nfs_port;
	int ret;

	set_services(server);
	ret = find_port(m, "rpcbind, asked for the mount service", MOUNT_PROGRAM,
			server->url.mount_port, 0, &mount_port);
	if (ret == -ENOENT)
		return -ENXIO;
	if (ret == 0)
		ret = find_port(m, "rpcbind, asked for NFS", NFS_PROGRAM, server->url.nfs_port,
				NFS_PORT, &nfs_port);
	if (ret == 0) {
		atomic_store(&server->nfs.port, nfs_port);
		ret = mount_or_walk(m, mount_port, &server->view.root);
	}
	if (ret == -ENOENT || ret == -EACCES || ret == -EPERM)
		m->why = say_exports(m, mount_port);
	if (ret == 0)
		ret = get_root_attr(m, root);
	return ret < 0 ? ret : get_max_read(m);
}

static bool lacks_version_3(int status)
{
	return status == -ENXIO || nfs_is_away(status);
}

/* A server that has both versions tells rpcbind of version 3 before it answers version 4. */
static bool knows_version_3(struct nfs_mounting *m)
{
	const gint64 until =
		MIN(m->deadline, g_get_monotonic_time() + CALL_SECONDS * G_USEC_PER_SEC);
	unsigned port;

	return nfs_ask_port(m->server, NFS_PROGRAM, NFS_VERSION, until, -1, &port) == 0;
}

/*
 * Finds the root by version 3, and by version 4 only if the server has no version 3 for a while: a
 * server that is starting may have one before the other.  *done: it was version 4.
 */
static int find_either(struct nfs_mounting *m, struct source_attr *root, bool *done)
{
	struct nfs_server *server = m->server;
	const gint64 deadline = m->deadline;
	int ret, other;

	m->deadline = MIN(deadline, g_get_monotonic_time() + V3_SECONDS * G_USEC_PER_SEC);
	ret = find_root(m, root);
	m->deadline = deadline;
	if (!lacks_version_3(ret))
		return ret;
	other = nfs4_find_root(m, NFS4_MINORS, false, root);
	*done = !nfs_is_away(other) && other != -ENOTSUP && !knows_version_3(m);
	if (*done)
		return other;
	server->view.v4 = false;
	return find_root(m, root);
}

static gboolean open_v4(struct nfs_mounting *m, int ret, GError **error)
{
	struct nfs_server *server = m->server;

	if (ret < 0)
		return nfs4_explain(m, ret, error);
	if (!server->url.minors)
		g_message("%s: the old server has no mount service for NFS version 3: version 4.%u "
			  "is used",
			  server->url.text, server->view.minor);
	return TRUE;
}

static gboolean open_any(struct nfs_mounting *m, struct source_attr *root, GError **error)
{
	struct nfs_server *server = m->server;
	bool version4 = server->url.minors;
	int ret;

	if (!resolve_host(server, m->deadline, error))
		return FALSE;
	if (version4)
		ret = nfs4_find_root(m, server->url.minors, true, root);
	else if (server->url.only_v3 || server->url.mount_port)
		ret = find_root(m, root);
	else
		ret = find_either(m, root, &version4);
	if (version4)
		return open_v4(m, ret, error);
	if (ret == -ENXIO)
		return error_set(error, ENOENT,
				 "%s: the old server's rpcbind knows no mount service; start it "
				 "there, or give mountport=, or version=4 if it has no version 3",
				 server->url.text);
	if (ret < 0)
		return explain_status(m, ret, error);
	return open_acl(m, error) && open_xattrs(m, root->fileid, error);
}

gboolean nfs_server_open(struct nfs_server *server, const struct nfs_config *config,
			 struct source_attr *root, GError **error)
{
	struct nfs_mounting m;
	gboolean opened;

	if (server->url.sec != NFS_SEC_SYS)
		nfs_credential_init(&server->credential, &server->url, config);
	nfs_tls_init(&server->tls, &server->url, config);
	nfs_complaint_init(&server->complaint);
	server->elsewhere = config && config->elsewhere;
	server->view.systems = nfs_systems_new();
	rpc_auth_init(&server->auth, server->url.uid, server->url.gid);
	atomic_init(&server->stall_ms, NFS_STALL_MS);
	set_services(server);
	nfs_mounting_init(&m, server, g_get_monotonic_time() + OPEN_SECONDS * G_USEC_PER_SEC);
	opened = open_any(&m, root, error);
	nfs_mounting_clear(&m);
	return opened;
}

/* ACCESS3res (RFC 1813 section 3.3.4). */
static int ask_writable(struct nfs_mounting *m)
{
	const struct nfs_handle *handle = &m->server->view.root;
	uint8_t args[4 + NFS3_FHSIZE + 4], *memory;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct source_attr attr;
	struct xdr_in in;
	uint64_t fs;
	int ret;

	xdr_put_bytes(&out, handle->bytes, handle->len);
	xdr_put_u32(&out, NFS_ACCESS_CHANGE);
	ret = nfs_mounting_call(m, atomic_load(&m->server->nfs.port), NFS_PROGRAM, NFS_VERSION,
				NFSPROC3_ACCESS, &out, args, &in, &memory);
	if (ret == 0)
		ret = nfs_status(xdr_get_u32(&in));
	if (ret == 0 && xdr_get_u32(&in))
		nfs_get_attr(&in, &fs, &attr);
	if (ret == 0)
		ret = (xdr_get_u32(&in) & NFS_ACCESS_CHANGE) != 0;
	if (ret >= 0 && in.bad)
		ret = -EBADMSG;
	g_free(memory);
	return ret;
}

int nfs_server_writable(struct nfs_server *server)
{
	struct nfs_mounting m;
	int ret;

	nfs_mounting_init(&m, server, g_get_monotonic_time() + ASK_SECONDS * G_USEC_PER_SEC);
	ret = server->view.v4 ? nfs4_writable(&m) : ask_writable(&m);
	nfs_mounting_clear(&m);
	return ret;
}

void nfs_server_clear(struct nfs_server *server)
{
	nfs_credential_clear(&server->credential);
	nfs_tls_clear(&server->tls);
	nfs_complaint_clear(&server->complaint);
	suspects_clear(&server->suspects);
	g_clear_pointer(&server->view.owners, nfs4_owners_free);
	g_clear_pointer(&server->view.holes, nfs4_holes_free);
	g_clear_pointer(&server->view.systems, nfs_systems_free);
	nfs_url_clear(&server->url);
	g_clear_pointer(&server->addresses, g_free);
}
