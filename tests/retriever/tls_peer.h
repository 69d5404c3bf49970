/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The other end of a TLS connection, on a pair of sockets, with a certificate of its own for "old".
 */
#ifndef TESTS_RETRIEVER_TLS_PEER_H
#define TESTS_RETRIEVER_TLS_PEER_H

#include <check.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/source/nfs/nfs_link.h"

struct tls_peer {
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;
	gnutls_certificate_credentials_t credentials;
	struct nfs_link link; /* its end */
	int fd;		      /* ours */
};

static inline void tls_peer_make(struct tls_peer *peer)
{
	int pair[2];

	*peer = (struct tls_peer){.fd = -1};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
			 0);
	peer->fd = pair[0];
	peer->link.fd = pair[1];
	gnutls_x509_privkey_init(&peer->key);
	ck_assert_int_eq(
		gnutls_x509_privkey_generate(peer->key, GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	gnutls_x509_crt_init(&peer->certificate);
	gnutls_x509_crt_set_version(peer->certificate, 3);
	gnutls_x509_crt_set_serial(peer->certificate, "1", 1);
	gnutls_x509_crt_set_dn(peer->certificate, "CN=old", NULL);
	gnutls_x509_crt_set_subject_alt_name(peer->certificate, GNUTLS_SAN_DNSNAME, "old", 3, 0);
	gnutls_x509_crt_set_activation_time(peer->certificate, time(NULL) - 3600);
	gnutls_x509_crt_set_expiration_time(peer->certificate, time(NULL) + 3600);
	gnutls_x509_crt_set_basic_constraints(peer->certificate, 1, 0);
	gnutls_x509_crt_set_key(peer->certificate, peer->key);
	ck_assert_int_eq(gnutls_x509_crt_sign2(peer->certificate, peer->certificate, peer->key,
					       GNUTLS_DIG_SHA256, 0),
			 0);
	gnutls_certificate_allocate_credentials(&peer->credentials);
	gnutls_certificate_set_x509_key(peer->credentials, &peer->certificate, 1, peer->key);
	gnutls_init(&peer->link.tls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(peer->link.tls);
	gnutls_credentials_set(peer->link.tls, GNUTLS_CRD_CERTIFICATE, peer->credentials);
	gnutls_transport_set_int(peer->link.tls, peer->link.fd);
}

static inline void tls_peer_write_certificate(const struct tls_peer *peer, const char *file)
{
	gnutls_datum_t text;

	gnutls_x509_crt_export2(peer->certificate, GNUTLS_X509_FMT_PEM, &text);
	ck_assert(g_file_set_contents(file, (char *)text.data, text.size, NULL));
	gnutls_free(text.data);
}

static inline void tls_peer_write_key(const struct tls_peer *peer, const char *file)
{
	gnutls_datum_t text;

	gnutls_x509_privkey_export2(peer->key, GNUTLS_X509_FMT_PEM, &text);
	ck_assert(g_file_set_contents(file, (char *)text.data, text.size, NULL));
	gnutls_free(text.data);
}

static inline void tls_peer_free(struct tls_peer *peer)
{
	nfs_link_close(&peer->link);
	gnutls_certificate_free_credentials(peer->credentials);
	gnutls_x509_crt_deinit(peer->certificate);
	gnutls_x509_privkey_deinit(peer->key);
}

#endif
