/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets, and calls that are waited for. */
#ifndef LIB_SOURCE_NFS_NFS_NET_H
#define LIB_SOURCE_NFS_NFS_NET_H

#include "lib/source/nfs/nfs_server.h"

/*
 * A TCP connection in the making to that address and port: from a reserved port where possible,
 * non-blocking, without Nagle's delay, with keepalive.  The descriptor, or -errno.
 */
int nfs_socket(const struct nfs_address *address, unsigned port);
/* Once it is writable: 0, or the -errno it failed with; -ELOOP: it leads to this machine, and is to
 * lead elsewhere. */
int nfs_socket_error(int fd, bool elsewhere);
/* What is wrong then. */
#define NFS_MYSELF                                                                                 \
	"the address is this machine's own by now: let source= name one that the old server keeps"
/* Whether somebody at address a who is connected to address b speaks with himself, and not by
 * loopback, as tests do. */
bool nfs_is_myself(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Calls under way that keep that connection busy, by its round-trip time unless configured. */
unsigned nfs_window(int fd, unsigned configured);

/*
 * One call on a connection of its own, waited for until deadline (g_get_monotonic_time()) or until
 * cancel_fd (-1: none) is readable.  args: the encoded arguments.  On 0 *in is the result, in
 * memory that the caller frees; else -errno: of the connection, -ETIMEDOUT, -ECANCELED, or of
 * rpc_reply_open(), or, with TLS, -EKEYREJECTED and *why in words (g_free): there is none with this
 * server.  reply: NULL, or its header, valid as long as the memory.
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
	struct rpc_reply *reply;
	const struct nfs_tls *tls; /* NULL: in the clear */
	bool elsewhere;		   /* as in struct nfs_config */
	char **why;		   /* where there may be TLS */
};
int nfs_call(const struct nfs_call *call, struct xdr_in *in, uint8_t **memory);
/* The connection alone, as it would be made for that call. */
int nfs_connect(const struct nfs_call *call, struct nfs_link *link);
/* Is -errno of a call a sign of a server that is away (and may come back)? */
bool nfs_is_away(int status);

/*
 * The port of a program over TCP as rpcbind on that address tells (RFC 1833 version 2).  0 and
 * *port, -ENOENT (not registered), or as nfs_call.
 */
int nfs_ask_port(const struct nfs_server *server, uint32_t program, uint32_t version,
		 gint64 deadline, int cancel_fd, unsigned *port);

#endif
