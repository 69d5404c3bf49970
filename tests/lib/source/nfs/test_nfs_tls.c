/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handshakes that come to their end, and those that must not; certificates of a real authority are
 * the integration tests'. */
#include "lib/source/nfs/nfs_tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/eventfd.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/tls_peer.h"

static char dir[] = "/tmp/test-nfs-tls-XXXXXX";
static char *ca, *key;
static struct nfs_url url;
static struct nfs_tls tls;
static struct tls_peer peer;
static struct nfs_link link_here;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ca = g_strconcat(dir, "/ca", NULL);
	key = g_strconcat(dir, "/key", NULL);
	tls_peer_make(&peer);
	tls_peer_write_certificate(&peer, ca);
	tls_peer_write_key(&peer, key);
	chmod(key, 0600);
	link_here.fd = peer.fd;
}

static void teardown(void)
{
	nfs_link_close(&link_here);
	tls_peer_free(&peer);
	nfs_tls_clear(&tls);
	unlink(ca);
	unlink(key);
	rmdir(dir);
	g_free(ca);
	g_free(key);
}

static void *serve(void *arg)
{
	int ret;

	do
		ret = gnutls_handshake(peer.link.tls);
	while (ret < 0 && !gnutls_error_is_fatal(ret));
	if (ret < 0)
		gnutls_alert_send_appropriate(peer.link.tls, ret);
	return GINT_TO_POINTER(ret);
}

static int begin(const char *host, const struct nfs_config *config, enum nfs_xprtsec xprtsec,
		 bool served, char **why)
{
	GThread *thread = served ? g_thread_new("peer", serve, NULL) : NULL;
	int ret;

	url = (struct nfs_url){.host = (char *)host, .xprtsec = xprtsec};
	nfs_tls_init(&tls, &url, config);
	ret = nfs_tls_begin(&tls, &link_here, g_get_monotonic_time() + 10 * G_USEC_PER_SEC, -1,
			    why);
	if (ret < 0)
		shutdown(peer.fd, SHUT_RDWR);
	if (thread)
		g_thread_join(thread);
	return ret;
}

START_TEST(the_right_one_is_spoken_with)
{
	const struct nfs_config config = {.ca = ca, .certificate = ca, .key = key};
	char byte = 0, *why;
	ssize_t n;

	ck_assert_int_eq(begin("old", &config, (enum nfs_xprtsec)_i, true, &why), 0);
	ck_assert_ptr_null(why);
	ck_assert_int_eq(gnutls_protocol_get_version(link_here.tls), GNUTLS_TLS1_3);
	ck_assert_int_eq(nfs_link_send(&peer.link, (const uint8_t *)"x", 1), 1);
	do
		n = nfs_link_receive(&link_here, (uint8_t *)&byte, 1);
	while (n < 0 && errno == EAGAIN);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(byte, 'x');
}
END_TEST

static void refused(const char *host, const struct nfs_config *config, enum nfs_xprtsec xprtsec,
		    bool served, const char *words)
{
	g_autofree char *why = NULL;

	ck_assert_int_eq(begin(host, config, xprtsec, served, &why), -EKEYREJECTED);
	ck_assert_msg(why && strstr(why, words), "%s", why);
	ck_assert_ptr_null(strchr(why, '\n'));
}

START_TEST(another_name_is_refused)
{
	const struct nfs_config config = {.ca = ca};

	refused("other", &config, NFS_XPRTSEC_TLS, true, "write the name in the URL");
}
END_TEST

/* There may be no system's trust where this runs. */
START_TEST(a_stranger_is_refused)
{
	refused("old", NULL, NFS_XPRTSEC_TLS, true, "set nfs-ca to the file of ");
}
END_TEST

START_TEST(older_tls_is_refused)
{
	const struct nfs_config config = {.ca = ca};

	gnutls_priority_set_direct(peer.link.tls, "NORMAL:-VERS-ALL:+VERS-TLS1.2", NULL);
	refused("old", &config, NFS_XPRTSEC_TLS, true, "the old server ends TLS (");
}
END_TEST

static bool out_of_memory;

/* Instead of the library's. */
int gnutls_alpn_set_protocols(gnutls_session_t session, const gnutls_datum_t *protocols, unsigned n,
			      unsigned flags)
{
	__typeof__(&gnutls_alpn_set_protocols) real = dlsym(RTLD_NEXT, "gnutls_alpn_set_protocols");

	return out_of_memory ? GNUTLS_E_MEMORY_ERROR : real(session, protocols, n, flags);
}

/* Nothing is sent where there is no session. */
START_TEST(without_a_session)
{
	const struct nfs_config config = {.ca = ca};
	char *why;

	out_of_memory = true;
	ck_assert_int_eq(begin("old", &config, NFS_XPRTSEC_TLS, false, &why), -ENOMEM);
	ck_assert_ptr_null(why);
}
END_TEST

START_TEST(files_are_looked_at)
{
	struct nfs_config config = {.ca = key};

	refused("old", &config, NFS_XPRTSEC_TLS, false, "has no certificate (PEM)");
	nfs_tls_clear(&tls);
	config.ca = ca;
	refused("old", &config, NFS_XPRTSEC_MTLS, false, "set nfs-certificate and nfs-key");
	nfs_tls_clear(&tls);
	config.certificate = ca;
	config.key = ca;
	chmod(ca, 0600);
	refused("old", &config, NFS_XPRTSEC_MTLS, false, "nfs-certificate = ");
	nfs_tls_clear(&tls);
	config.key = key;
	chmod(key, 0640);
	refused("old", &config, NFS_XPRTSEC_MTLS, false, "can be read or changed by others");
}
END_TEST

START_TEST(handshakes_end_in_time)
{
	const struct nfs_config config = {.ca = ca};
	int wake = eventfd(1, EFD_CLOEXEC);
	char *why;

	url = (struct nfs_url){.host = (char *)"old", .xprtsec = NFS_XPRTSEC_TLS};
	nfs_tls_init(&tls, &url, &config);
	if (_i == 2)
		shutdown(peer.link.fd, SHUT_RDWR);
	ck_assert_int_eq(
		nfs_tls_begin(&tls, &link_here,
			      g_get_monotonic_time() + (_i == 0 ? 50000 : 600 * G_USEC_PER_SEC),
			      _i == 1 ? wake : -1, &why),
		_i == 0	  ? -ETIMEDOUT
		: _i == 1 ? -ECANCELED
			  : -ECONNRESET);
	ck_assert_ptr_null(why);
	close(wake);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, the_right_one_is_spoken_with, NFS_XPRTSEC_TLS,
			    NFS_XPRTSEC_MTLS + 1);
	tcase_add_test(tcase, another_name_is_refused);
	tcase_add_test(tcase, a_stranger_is_refused);
	tcase_add_test(tcase, older_tls_is_refused);
	tcase_add_test(tcase, without_a_session);
	tcase_add_test(tcase, files_are_looked_at);
	tcase_add_loop_test(tcase, handshakes_end_in_time, 0, 3);
	return run_tcase(tcase);
}
