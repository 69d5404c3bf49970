/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_tls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/private_file.h"

#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3" /* RFC 9289 section 5: nothing older */

void nfs_tls_init(struct nfs_tls *tls, const struct nfs_url *url, const struct nfs_config *config)
{
	static const struct nfs_config none;

	if (!config)
		config = &none;
	*tls = (struct nfs_tls){
		.mutual = url->xprtsec == NFS_XPRTSEC_MTLS,
		.host = url->host,
		.ca = g_strdup(config->ca),
		.certificate = g_strdup(config->certificate),
		.key = g_strdup(config->key),
	};
}

void nfs_tls_clear(struct nfs_tls *tls)
{
	g_clear_pointer(&tls->ca, g_free);
	g_clear_pointer(&tls->certificate, g_free);
	g_clear_pointer(&tls->key, g_free);
}

/* ---- the files ---- */

static char *load_trust(const struct nfs_tls *tls, gnutls_certificate_credentials_t credentials)
{
	int n = tls->ca ? gnutls_certificate_set_x509_trust_file(credentials, tls->ca,
								 GNUTLS_X509_FMT_PEM)
			: gnutls_certificate_set_x509_system_trust(credentials);

	if (n > 0)
		return NULL;
	if (!tls->ca)
		return g_strdup("this system trusts no certificates: install ca-certificates, or "
				"set nfs-ca to the file of the old server's CA");
	return g_strdup_printf("nfs-ca = %s: has no certificate (PEM)%s%s", tls->ca,
			       n < 0 ? ": " : "", n < 0 ? gnutls_strerror(n) : "");
}

static char *load_own(const struct nfs_tls *tls, gnutls_certificate_credentials_t credentials)
{
	const char *why;
	struct stat st;
	int ret;

	if (!tls->mutual)
		return NULL;
	if (!tls->certificate || !tls->key)
		return g_strdup("xprtsec=mtls needs a certificate of this host: set "
				"nfs-certificate and nfs-key");
	why = stat(tls->key, &st) < 0 ? g_strerror(errno) : private_file_objection(&st);
	if (why)
		return g_strdup_printf("nfs-key = %s: %s", tls->key, why);
	ret = gnutls_certificate_set_x509_key_file(credentials, tls->certificate, tls->key,
						   GNUTLS_X509_FMT_PEM);
	return ret >= 0 ? NULL
			: g_strdup_printf("nfs-certificate = %s, nfs-key = %s: %s",
					  tls->certificate, tls->key, gnutls_strerror(ret));
}

/* ---- the handshake ---- */

static char *objection_to_certificate(const struct nfs_tls *tls, gnutls_session_t session)
{
	unsigned status = gnutls_session_get_verify_cert_status(session);
	gnutls_datum_t text = {0};
	char *why;

	gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
	why = g_strdup_printf(
		"the certificate of %s is not to be trusted: %s%s", tls->host,
		text.data ? (char *)text.data : "",
		status & GNUTLS_CERT_UNEXPECTED_OWNER	? "write the name in the URL that it is for"
		: status & GNUTLS_CERT_SIGNER_NOT_FOUND ? "set nfs-ca to the file of its CA"
							: "see to it there, and to both clocks");
	gnutls_free(text.data);
	return why;
}

char *nfs_tls_ended(const struct nfs_tls *tls, const struct nfs_link *link)
{
	return g_strdup_printf("the old server ends TLS (%s): see its log%s",
			       gnutls_alert_get_name(gnutls_alert_get(link->tls)),
			       tls->mutual ? ", and whether it trusts nfs-certificate"
					   : "; it may want a certificate (xprtsec=mtls)");
}

static char *objection_to_handshake(const struct nfs_tls *tls, const struct nfs_link *link, int ret)
{
	if (ret == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
		return objection_to_certificate(tls, link->tls);
	if (ret == GNUTLS_E_FATAL_ALERT_RECEIVED)
		return nfs_tls_ended(tls, link);
	return g_strdup_printf("TLS with the old server fails: %s", gnutls_strerror(ret));
}

static int shake_hands(const struct nfs_tls *tls, struct nfs_link *link, gint64 deadline,
		       int cancel_fd, char **why)
{
	for (;;) {
		int ret = gnutls_handshake(link->tls);

		if (ret == GNUTLS_E_SUCCESS)
			return 0;
		if (gnutls_error_is_fatal(ret)) {
			if (ret == GNUTLS_E_PULL_ERROR || ret == GNUTLS_E_PUSH_ERROR ||
			    ret == GNUTLS_E_PREMATURE_TERMINATION)
				return -ECONNRESET;
			*why = objection_to_handshake(tls, link, ret);
			return -EKEYREJECTED;
		}
		ret = nfs_link_wait(link, gnutls_record_get_direction(link->tls) ? POLLOUT : POLLIN,
				    deadline, cancel_fd);
		if (ret < 0)
			return ret;
	}
}

static bool make_session(const struct nfs_tls *tls, struct nfs_link *link,
			 gnutls_certificate_credentials_t credentials)
{
	static const gnutls_datum_t alpn = {.data = (unsigned char *)"sunrpc", .size = 6};
	gnutls_session_t session;

	if (gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return false;
	link->tls = session;
	gnutls_session_set_verify_cert(session, tls->host, 0);
	if (!g_hostname_is_ip_address(tls->host))
		gnutls_server_name_set(session, GNUTLS_NAME_DNS, tls->host, strlen(tls->host));
	gnutls_transport_set_int(session, link->fd);
	return gnutls_priority_set_direct(session, PRIORITY, NULL) >= 0 &&
	       gnutls_alpn_set_protocols(session, &alpn, 1, 0) >= 0 &&
	       gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) >= 0;
}

int nfs_tls_begin(const struct nfs_tls *tls, struct nfs_link *link, gint64 deadline, int cancel_fd,
		  char **why)
{
	gnutls_certificate_credentials_t credentials;
	int ret;

	*why = NULL;
	if (gnutls_certificate_allocate_credentials(&credentials) < 0)
		return -ENOMEM;
	*why = load_trust(tls, credentials);
	if (!*why)
		*why = load_own(tls, credentials);
	if (*why)
		ret = -EKEYREJECTED;
	else if (!make_session(tls, link, credentials))
		ret = -ENOMEM;
	else
		ret = shake_hands(tls, link, deadline, cancel_fd, why);
	/* the credentials are not looked at any more: TLS 1.3 has no second handshake */
	if (link->tls)
		gnutls_credentials_clear(link->tls);
	gnutls_certificate_free_credentials(credentials);
	return ret;
}
