/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The NFS version 3 backend inside: the URL (nfs_url.c), sockets and calls that are waited
 * for (nfs_net.c), what happens at open (nfs_mount.c), connections and their
 * threads (nfs_conn.c), the table (nfs.c).
 */
#ifndef NFS_H
#define NFS_H

#include <pthread.h>
#include <sys/socket.h>

#include "nfs_proc.h"

/* nfs://host[:port]/path[?mountport=N&nfsport=N&aclport=N&version=3&uid=N&gid=N] */
struct nfs_url {
	char *text;				 /* as it was given, for messages */
	char *host;				 /* IPv6 without brackets */
	char *path;				 /* absolute */
	uint16_t nfs_port, mount_port, acl_port; /* 0: ask rpcbind */
	bool no_acl;				 /* aclport=0: ACLs are not wanted */
	bool only_v3;				 /* version=3: nothing else is spoken */
	uint32_t uid, gid;
};
gboolean nfs_url_parse(const char *text, struct nfs_url *url, GError **error);
void nfs_url_clear(struct nfs_url *url);

struct nfs_address {
	struct sockaddr_storage addr;
	socklen_t len;
};

#define NFS_STALL_MS 60000

/* Where one of the server's programs is. */
struct nfs_service {
	atomic_uint port;
	uint32_t program, version;
	bool fixed;	       /* the URL names the port */
	enum backend_op probe; /* asked of the root on a new connection (version 3) */
};

struct nfs_server {
	struct nfs_url url;
	struct rpc_auth auth;
	struct nfs_address *addresses; /* what the host's name resolved to at open */
	size_t n_addresses;
	atomic_size_t address; /* the one that answered last */
	struct nfs_service nfs;
	struct nfs_service acl;
	bool acl_apart;	       /* ACLs are asked for on connections of their own */
	const char *no_acl;    /* why ACLs are not asked for; NULL: they are */
	struct nfs_service v4; /* for user extended attributes */
	const char *no_xattrs; /* likewise */
	struct nfs_view view;
	uint32_t max_read;    /* bytes */
	unsigned window;      /* configured, 0: automatic */
	atomic_uint stall_ms; /* an answer that takes longer is asked for anew */
	struct backend_watch watch;
};

/*
 * A TCP connection in the making to that address and port: from a reserved port where possible,
 * non-blocking, without Nagle's delay, with keepalive.  The descriptor, or -errno.
 */
int nfs_socket(const struct nfs_address *address, unsigned port);
/* Once it is writable: 0, or the -errno it failed with. */
int nfs_socket_error(int fd);
/* Calls under way that keep that connection busy, by its round-trip time unless configured. */
unsigned nfs_window(int fd, unsigned configured);

/*
 * One call on a connection of its own, waited for until deadline (g_get_monotonic_time()) or until
 * cancel_fd (-1: none) is readable.  args: the encoded arguments.  On 0 *in is the result, in
 * memory that the caller frees; else -errno: of the connection, -ETIMEDOUT, -ECANCELED, or of
 * rpc_reply_begin.
 */
struct nfs_call {
	const struct nfs_address *address;
	const struct rpc_auth *auth;
	unsigned port;
	uint32_t program, version, procedure;
	const void *args;
	size_t args_len;
	gint64 deadline;
	int cancel_fd;
};
int nfs_call(const struct nfs_call *call, struct xdr_in *in, uint8_t **memory);
/* Is -errno of a call a sign of a server that is away (and may come back)? */
bool nfs_is_away(int status);

/*
 * The port of a program over TCP as rpcbind on that address tells (RFC 1833 version 2).  0 and
 * *port, -ENOENT (not registered), or as nfs_call.
 */
int nfs_ask_port(const struct nfs_server *server, uint32_t program, uint32_t version,
		 gint64 deadline, int cancel_fd, unsigned *port);

/*
 * Resolves, finds the ports, mounts, and fills in the server's root, its attributes, max_read, and
 * whether it has ACLs and extended attributes. Blocks up to 30 s.
 */
gboolean nfs_server_open(struct nfs_server *server, struct source_attr *root, GError **error);
void nfs_server_clear(struct nfs_server *server);

struct nfs_conn;
/*
 * Connects to that service, when there is something to do, or at once.  NULL with errno: no thread
 * to be had.
 */
struct nfs_conn *nfs_conn_new(struct nfs_server *server, struct nfs_service *service, bool at_once);
/* Cancels all that it has; from then on everything submitted is cancelled. */
void nfs_conn_stop(struct nfs_conn *conn);
/* After stop: waits until all is cancelled.  Others may still submit to it until free. */
void nfs_conn_join(struct nfs_conn *conn);
void nfs_conn_free(struct nfs_conn *conn);
void nfs_conn_submit(struct nfs_conn *conn, struct backend_request *req);
/* How much there is under way, in no particular unit. */
unsigned nfs_conn_load(struct nfs_conn *conn);

/* For tests: how long an answer may take before the connection is given up. */
void backend_nfs_set_stall(struct backend *backend, unsigned ms);

#endif
