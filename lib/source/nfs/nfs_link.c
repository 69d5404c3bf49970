/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_link.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* What TLS says, as system calls do. */
static ssize_t result_of(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = !gnutls_error_is_fatal((int)n)	     ? EAGAIN
		: n == GNUTLS_E_FATAL_ALERT_RECEIVED ? EPROTO
						     : ECONNRESET;
	return -1;
}

ssize_t nfs_link_send(struct nfs_link *link, const uint8_t *bytes, size_t len)
{
	ssize_t n;

	if (!link->tls)
		return send(link->fd, bytes, len, MSG_NOSIGNAL);
	n = result_of(link->unsent ? gnutls_record_send(link->tls, NULL, 0)
				   : gnutls_record_send(link->tls, bytes, len));
	link->unsent = n < 0 && errno == EAGAIN;
	return n;
}

ssize_t nfs_link_receive(struct nfs_link *link, uint8_t *bytes, size_t len)
{
	return link->tls ? result_of(gnutls_record_recv(link->tls, bytes, len))
			 : recv(link->fd, bytes, len, 0);
}

bool nfs_link_holds(const struct nfs_link *link)
{
	return link->tls && gnutls_record_check_pending(link->tls) > 0;
}

void nfs_link_close(struct nfs_link *link)
{
	if (link->tls)
		gnutls_deinit(link->tls);
	if (link->fd >= 0)
		close(link->fd);
	*link = (struct nfs_link){.fd = -1};
}

int nfs_link_wait(const struct nfs_link *link, short events, gint64 deadline, int cancel_fd)
{
	struct pollfd polled[2] = {{.fd = link->fd, .events = events},
				   {.fd = cancel_fd, .events = POLLIN}};

	for (;;) {
		gint64 left = (deadline - g_get_monotonic_time() + 999) / 1000;
		int ret;

		if (left <= 0)
			return -ETIMEDOUT;
		ret = poll(polled, 2, (int)MIN(left, G_MAXINT));
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (ret > 0 && polled[1].revents)
			return -ECANCELED;
		if (ret > 0)
			return 0;
	}
}
