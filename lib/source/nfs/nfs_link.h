/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends and receives a connection's bytes: as they are, or by TLS once that has begun (nfs_tls.h).
 * One thread. */
#ifndef LIB_SOURCE_NFS_NFS_LINK_H
#define LIB_SOURCE_NFS_NFS_LINK_H

#include <glib.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nfs_link {
	int fd;		      /* non-blocking; -1: none */
	gnutls_session_t tls; /* NULL: in the clear */
	bool unsent;	      /* TLS still keeps a part of what was to be sent */
};

/*
 * As send(2) and recv(2) with a non-blocking descriptor.  After EAGAIN the same bytes have to be
 * sent once more; others may follow them.  EPROTO: the server ended TLS, and may have said why
 * (nfs_tls_ended()).
 */
ssize_t nfs_link_send(struct nfs_link *link, const uint8_t *bytes, size_t len);
ssize_t nfs_link_receive(struct nfs_link *link, uint8_t *bytes, size_t len);
/* Whether there is more to receive than poll(2) tells. */
bool nfs_link_holds(const struct nfs_link *link);
/* Closes the connection, if there is one. */
void nfs_link_close(struct nfs_link *link);

/* Waits for these events of poll(2) until the deadline (g_get_monotonic_time()), or until cancel_fd
 * (-1: none) is readable: 0, -ETIMEDOUT, -ECANCELED, or -errno. */
int nfs_link_wait(const struct nfs_link *link, short events, gint64 deadline, int cancel_fd);

#endif
