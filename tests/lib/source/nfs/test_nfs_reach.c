/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways to a server that are open, and those that are not: what is wrong is said. */
#include "lib/source/nfs/nfs_reach.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_gss.h"
#include "tests/retriever/tls_peer.h"

static char keytab[] = "/tmp/test-nfs-reach-XXXXXX";
static const struct nfs_config config = {.keytab = keytab};
static struct nfs_address address;
static struct nfs_server server;
static struct fake_gss gss;
static struct fake *fake;
static struct nfs_link found;
static struct nfs_gss *context;

static void start(enum nfs_sec sec, enum nfs_xprtsec xprtsec)
{
	close(mkstemp(keytab));
	gss = fake_gss_of(sec);
	fake = fake_start(fake_gss_serve, &gss);
	fake_server(fake, sec, &address, &server);
	server.url.xprtsec = xprtsec;
	found.fd = -1;
	nfs_complaint_init(&server.complaint);
	nfs_credential_init(&server.credential, &server.url, &config);
	nfs_tls_init(&server.tls, &server.url, &config);
}

static void end(void)
{
	nfs_link_close(&found);
	g_clear_pointer(&context, nfs_gss_free);
	fake_stop(fake);
	nfs_tls_clear(&server.tls);
	nfs_credential_clear(&server.credential);
	nfs_complaint_clear(&server.complaint);
	unlink(keytab);
}

static bool connect_it(int cancel_fd)
{
	return nfs_reach_connect(&server, &server.nfs, 0, cancel_fd, &found, &context);
}

START_TEST(the_way_is_open)
{
	start((enum nfs_sec)_i, NFS_XPRTSEC_NONE);
	ck_assert(connect_it(-1));
	ck_assert_int_eq(
		nfs_link_wait(&found, POLLOUT, g_get_monotonic_time() + 10 * G_USEC_PER_SEC, -1),
		0);
	ck_assert_int_eq(nfs_socket_error(found.fd, false), 0);
	ck_assert_int_eq(context != NULL, _i != NFS_SEC_SYS);
	ck_assert_uint_eq(gss.contexts, _i != NFS_SEC_SYS);
	ck_assert_ptr_null(server.complaint.said);
}
END_TEST

START_TEST(without_a_context_there_is_no_connection)
{
	int wake = eventfd(1, EFD_CLOEXEC);

	start(NFS_SEC_KRB5I, NFS_XPRTSEC_NONE);
	ck_assert(!connect_it(wake));
	ck_assert_ptr_null(server.complaint.said); /* nothing is wrong */
	gss.major = GSS_S_FAILURE;
	ck_assert(!connect_it(-1));
	ck_assert_int_lt(found.fd, 0);
	ck_assert_ptr_null(context);
	ck_assert_ptr_nonnull(strstr(server.complaint.said, "refuses the ticket"));
	close(wake);
}
END_TEST

static enum fake_action answer_to_null(struct fake_call *call)
{
	return FAKE_REPLY;
}

START_TEST(without_tls_there_is_none)
{
	start(NFS_SEC_SYS, NFS_XPRTSEC_TLS);
	fake->hook = answer_to_null;
	ck_assert(!connect_it(-1));
	ck_assert_int_lt(found.fd, 0);
	ck_assert_ptr_nonnull(strstr(server.complaint.said, "does not offer TLS"));
}
END_TEST

START_TEST(why_tls_ended_is_said)
{
	struct tls_peer peer;

	start(NFS_SEC_SYS, _i ? NFS_XPRTSEC_TLS : NFS_XPRTSEC_NONE);
	tls_peer_make(&peer);
	nfs_reach_ended(&server, &peer.link, 0);
	nfs_reach_ended(&server, &peer.link, ECONNRESET);
	ck_assert_ptr_null(server.complaint.said);
	nfs_reach_ended(&server, &peer.link, EPROTO);
	ck_assert_int_eq(server.complaint.said != NULL, _i);
	close(peer.fd);
	tls_peer_free(&peer);
}
END_TEST

/* Where it is not asked, or not told, the port is what it was. */
START_TEST(ports_stay)
{
	unsigned port;

	start(NFS_SEC_SYS, NFS_XPRTSEC_NONE);
	port = server.nfs.port;
	nfs_reach_ask_port(&server, &server.nfs, -1);
	server.nfs.fixed = false;
	server.nfs.program = 0x3fffffff; /* nobody's */
	nfs_reach_ask_port(&server, &server.nfs, -1);
	ck_assert_uint_eq(server.nfs.port, port);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	g_log_set_default_handler(plain_log, NULL);
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_loop_test(tcase, the_way_is_open, NFS_SEC_SYS, NFS_SEC_KRB5P + 1);
	tcase_add_test(tcase, without_a_context_there_is_no_connection);
	tcase_add_test(tcase, without_tls_there_is_none);
	tcase_add_loop_test(tcase, why_tls_ended_is_said, 0, 2);
	tcase_add_test(tcase, ports_stay);
	return run_tcase(tcase);
}
