/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are waited for at open, and the lines for what comes of them. */
#include "lib/source/nfs/nfs_mounting.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct nfs_server server;
static struct nfs_address addresses[3];
static struct nfs_mounting m;

static void setup(void)
{
	server = (struct nfs_server){
		.url = {.text = (char *)"nfs://old/x", .host = (char *)"old", .path = (char *)"/x"},
		.addresses = addresses,
		.n_addresses = G_N_ELEMENTS(addresses)};
	for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
		struct sockaddr_in *addr = (struct sockaddr_in *)&addresses[i].addr;

		*addr = (struct sockaddr_in){.sin_family = AF_INET,
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		addresses[i].len = sizeof(*addr);
	}
	rpc_auth_init(&server.auth, 0, 0);
	nfs_mounting_init(&m, &server, g_get_monotonic_time() + 20 * G_USEC_PER_SEC);
	m.last = "its service";
}

START_TEST(calls_come_back)
{
	struct fake *fake = fake_start(NULL, NULL);
	uint8_t args[64], *memory;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct xdr_in in;

	xdr_put_bytes(&out, FAKE_ROOT, strlen(FAKE_ROOT));
	ck_assert_int_eq(nfs_mounting_call(&m, fake->port, NFS_PROGRAM, 3, NFSPROC3_GETATTR, &out,
					   args, &in, &memory),
			 0);
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert_uint_eq(xdr_get_u32(&in), 2);
	g_free(memory);
	out.bad = true; /* what did not fit is not sent */
	ck_assert_int_eq(nfs_mounting_call(&m, fake->port, NFS_PROGRAM, 3, NFSPROC3_GETATTR, &out,
					   args, &in, &memory),
			 -ENAMETOOLONG);
	fake_stop(fake);
}
END_TEST

START_TEST(addresses_take_turns_until_the_deadline)
{
	for (size_t i = 1; i <= 4; i++) {
		ck_assert(nfs_mounting_pause(&m));
		ck_assert_uint_eq(server.address, i % 3);
	}
	m.deadline = g_get_monotonic_time();
	ck_assert(!nfs_mounting_pause(&m));
	ck_assert_uint_eq(server.address, 1);
}
END_TEST

START_TEST(each_gets_its_line)
{
	static const struct {
		int status;
		const char *line;
	} lines[] = {
		{-EACCES, "does not let this host in; export /x to it"},
		{-EPERM, "does not let this host in; export /x to it"},
		{-ENOTDIR, "/x is not a directory there"},
		{-ECONNREFUSED, "old does not answer (its service)"},
		{-ETIMEDOUT, "check that host, and see"},
		{-EREMOTEIO, "the old server fails (its service)"},
		{-EBADMSG, "see its log"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
		GError *error = NULL;

		ck_assert(!nfs_mounting_explain(&m, lines[i].status, "and see", &error));
		ck_assert_int_eq(error->code, -lines[i].status);
		ck_assert(g_str_has_prefix(error->message, "nfs://old/x: "));
		ck_assert_msg(strstr(error->message, lines[i].line), "%s", error->message);
		g_error_free(error);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, calls_come_back);
	tcase_add_test(tcase, addresses_take_turns_until_the_deadline);
	tcase_add_test(tcase, each_gets_its_line);
	return run_tcase(tcase);
}
