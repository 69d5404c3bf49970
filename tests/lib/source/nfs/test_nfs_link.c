/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same bytes come, in the clear and by TLS, however little the sockets take at a time. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/tls_peer.h"

#define SIZE (4u << 20)

static struct tls_peer peer;
static struct nfs_link link_here;
static gnutls_certificate_credentials_t credentials;

static void start(bool tls)
{
	int here = GNUTLS_E_AGAIN, there = GNUTLS_E_AGAIN;

	tls_peer_make(&peer);
	link_here = (struct nfs_link){.fd = peer.fd};
	if (!tls) {
		gnutls_deinit(g_steal_pointer(&peer.link.tls));
		return;
	}
	gnutls_certificate_allocate_credentials(&credentials);
	gnutls_init(&link_here.tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(link_here.tls);
	gnutls_credentials_set(link_here.tls, GNUTLS_CRD_CERTIFICATE, credentials);
	gnutls_transport_set_int(link_here.tls, link_here.fd);
	while (here || there) {
		if (here)
			here = gnutls_handshake(link_here.tls);
		if (there)
			there = gnutls_handshake(peer.link.tls);
		ck_assert(!gnutls_error_is_fatal(here) && !gnutls_error_is_fatal(there));
	}
}

static void end(void)
{
	nfs_link_close(&link_here);
	ck_assert_int_eq(link_here.fd, -1);
	nfs_link_close(&link_here); /* there is none */
	tls_peer_free(&peer);
	if (credentials)
		gnutls_certificate_free_credentials(credentials);
}

/* Moves what follows up, as the connection does with what is to be sent. */
static void exchange(struct nfs_link *from, struct nfs_link *to)
{
	g_autofree uint8_t *bytes = g_malloc(SIZE), *got = g_malloc(SIZE), *out = NULL;
	size_t sent = 0, received = 0;
	unsigned full = 0;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 251);
	while (received < SIZE) {
		ssize_t n = 0;

		while (sent < SIZE && n >= 0) {
			const size_t part = MIN(SIZE - sent, 100000);

			g_free(out);
			out = g_memdup2(bytes + sent, part);
			n = nfs_link_send(from, out, part);
			sent += n > 0 ? (size_t)n : 0;
		}
		if (n < 0) {
			ck_assert_int_eq(errno, EAGAIN);
			full++;
		}
		do {
			n = nfs_link_receive(to, got + received, MIN(SIZE - received, 5000));
			received += n > 0 ? (size_t)n : 0;
		} while (n > 0 && (nfs_link_holds(to) || received < sent / 2));
		ck_assert(n > 0 || (n < 0 && errno == EAGAIN));
	}
	ck_assert_uint_gt(full, 0);
	ck_assert(!nfs_link_holds(to));
	ck_assert_int_eq(memcmp(bytes, got, SIZE), 0);
}

START_TEST(all_bytes_come)
{
	start(_i);
	exchange(&link_here, &peer.link);
	exchange(&peer.link, &link_here);
}
END_TEST

START_TEST(what_tls_holds_is_told)
{
	uint8_t byte;

	start(true);
	ck_assert_int_eq(nfs_link_send(&peer.link, (const uint8_t *)"abc", 3), 3);
	ck_assert_int_eq(nfs_link_wait(&link_here, POLLIN, G_MAXINT64, -1), 0);
	for (unsigned i = 0; i < 3; i++) {
		while (nfs_link_receive(&link_here, &byte, 1) < 0)
			ck_assert_int_eq(errno, EAGAIN); /* a ticket of TLS's own was before it */
		ck_assert_uint_eq(byte, "abc"[i]);
		ck_assert_int_eq(nfs_link_holds(&link_here), i < 2);
	}
}
END_TEST

START_TEST(ends_are_told_apart)
{
	uint8_t byte;
	ssize_t n;

	start(_i);
	if (_i)
		gnutls_alert_send(peer.link.tls, GNUTLS_AL_FATAL, GNUTLS_A_ACCESS_DENIED);
	shutdown(peer.link.fd, SHUT_RDWR);
	do
		n = nfs_link_receive(&link_here, &byte, 1);
	while (n < 0 && errno == EAGAIN);
	ck_assert_int_eq(n, _i ? -1 : 0);
	if (_i)
		ck_assert_int_eq(errno, EPROTO);
	n = nfs_link_send(&link_here, &byte, 1);
	ck_assert_int_eq(n, -1);
	ck_assert(errno == EPIPE || errno == ECONNRESET);
}
END_TEST

START_TEST(waits_end)
{
	int wake = eventfd(1, EFD_CLOEXEC);
	gint64 now = g_get_monotonic_time();

	start(false);
	ck_assert_int_eq(nfs_link_wait(&link_here, POLLOUT, G_MAXINT64, -1), 0);
	ck_assert_int_eq(nfs_link_wait(&link_here, POLLIN, now + 1000, -1), -ETIMEDOUT);
	ck_assert_int_eq(nfs_link_wait(&link_here, POLLIN, G_MAXINT64, wake), -ECANCELED);
	close(wake);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_loop_test(tcase, all_bytes_come, 0, 2);
	tcase_add_test(tcase, what_tls_holds_is_told);
	tcase_add_loop_test(tcase, ends_are_told_apart, 0, 2);
	tcase_add_test(tcase, waits_end);
	return run_tcase(tcase);
}
