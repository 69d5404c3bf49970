/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes sockets to an old server, and calls that are waited for. */
#ifndef LIB_SOURCE_NFS_NFS_NET_H
#define LIB_SOURCE_NFS_NFS_NET_H

#include "lib/source/nfs/nfs_server.h"

/*
 * Begins a TCP connection to that address and port: from a reserved port where possible,
 * non-blocking, without Nagle's delay, with keepalive.  The descriptor, or -errno.
 */
int nfs_socket(const struct nfs_address *address, unsigned port);
/* When the socket is writable: 0, or the -errno with which it failed to connect.  -ELOOP: the
 * connection leads to this machine although `elsewhere` was asked for. */
int nfs_socket_error(int fd, bool elsewhere);
/* The text for -ELOOP. */
#define NFS_MYSELF                                                                                 \
	"the address is this machine's own by now: let source= name one that the old server keeps"
/* Whether a connection from address a to address b has both ends on this machine, other than by
 * loopback, which tests use. */
bool nfs_is_myself(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* How many calls under way keep that connection busy: as configured, or (0) by its round-trip
 * time. */
unsigned nfs_window(int fd, unsigned configured);

/*
 * One call on a connection of its own, waited for until deadline (g_get_monotonic_time()) or until
 * cancel_fd (-1: none) is readable.  args: the encoded arguments.  On 0 *in is the result, in
 * memory that the caller frees; else -errno: of the connection, -ETIMEDOUT, -ECANCELED, or of
 * rpc_reply_open(), or, with TLS, -EKEYREJECTED and *why in words (g_free): TLS with this server
 * failed.  reply: NULL, or where the reply's header goes, valid as long as the memory.
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
	bool makes;		   /* what the server ends only on request: once sent, it has 1 s
				    * more when it is cancelled */
	char **why;		   /* needed where tls is set */
};
int nfs_call(const struct nfs_call *call, struct xdr_in *in, uint8_t **memory);
/* Makes only the connection for that call. */
int nfs_connect(const struct nfs_call *call, struct nfs_link *link);
/* Whether a call's -errno is a sign of a server that is away (and may come back). */
bool nfs_is_away(int status);

/*
 * Asks the server's rpcbind for the TCP port of a program (RFC 1833 version 2).  0 and *port,
 * -ENOENT (not registered), or as nfs_call.
 */
int nfs_ask_port(const struct nfs_server *server, uint32_t program, uint32_t version,
		 gint64 deadline, int cancel_fd, unsigned *port);

#endif
