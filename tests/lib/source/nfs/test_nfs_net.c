/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets and calls that are waited for. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>

#include "tests/retriever/backend_support.h"
#include "tests/retriever/fake_nfs.h"

static struct fake *fake;
static struct nfs_address address;
static struct rpc_auth auth;

static enum fake_action never(struct fake_call *call)
{
	return FAKE_IGNORE;
}

static void start(enum fake_action (*hook)(struct fake_call *call))
{
	struct sockaddr_in *in = (struct sockaddr_in *)&address.addr;

	fake = fake_start(hook, NULL);
	*in = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	address.len = sizeof(*in);
	rpc_auth_init(&auth, 0, 0);
}

static void end(void)
{
	if (fake)
		fake_stop(fake);
}

static int call(unsigned port, unsigned ms, int cancel_fd)
{
	struct nfs_call what = {
		.address = &address,
		.auth = &auth,
		.port = port,
		.program = NFS_PROGRAM,
		.version = NFS_VERSION,
		.procedure = NFSPROC3_GETATTR,
		.deadline = g_get_monotonic_time() + ms * INT64_C(1000),
		.cancel_fd = cancel_fd,
	};
	struct source_attr attr;
	struct xdr_in in;
	uint8_t *memory;
	uint64_t fs;
	int ret = nfs_call(&what, &in, &memory);

	if (ret < 0) {
		ck_assert_ptr_null(memory);
		return ret;
	}
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	memset(&attr, 0xff, sizeof(attr));
	ck_assert(nfs_get_attr(&in, &fs, &attr));
	ck_assert_uint_eq(fs, FAKE_FSID);
	ck_assert_uint_eq(attr.fs, 0);
	ck_assert(!attr.elsewhere);
	g_free(memory);
	return 0;
}

START_TEST(calls_are_answered)
{
	start(NULL);
	ck_assert_int_eq(call(fake->port, 10000, -1), 0);
}
END_TEST

START_TEST(calls_end_in_time)
{
	int wake = eventfd(1, 0);

	start(never);
	ck_assert_int_eq(call(fake->port, 50, -1), -ETIMEDOUT);
	ck_assert_int_eq(call(fake->port, 60000, wake), -ECANCELED);
	ck_assert(nfs_is_away(-ETIMEDOUT));
	ck_assert(!nfs_is_away(-ECANCELED));
	close(wake);
}
END_TEST

/* A record of empty fragments that never ends, for as long as somebody takes it. */
static enum fake_action flood(struct fake_call *call)
{
	static const uint8_t one[5] = {0, 0, 0, 1, 'x'}, empty[1 << 20];
	int fd = call->fake->conns[call->connection].fd;
	ssize_t n = send(fd, one, sizeof(one), MSG_NOSIGNAL);

	while (n > 0)
		n = send(fd, empty, sizeof(empty), MSG_NOSIGNAL);
	return FAKE_RESET;
}

START_TEST(floods_end_in_time)
{
	start(flood);
	ck_assert_int_eq(call(fake->port, 50, -1), -ETIMEDOUT);
}
END_TEST

START_TEST(nobody_there_is_away)
{
	unsigned port;

	start(NULL);
	port = fake->port;
	fake_stop(g_steal_pointer(&fake));
	ck_assert_int_eq(call(port, 10000, -1), -ECONNREFUSED);
	ck_assert(nfs_is_away(-ECONNREFUSED));
	ck_assert(!nfs_is_away(-EACCES));
	ck_assert(!nfs_is_away(0));
}
END_TEST

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage to = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
	void *bytes = to.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)&to)->sin_addr
					      : (void *)&((struct sockaddr_in6 *)&to)->sin6_addr;

	ck_assert_int_eq(inet_pton(to.ss_family, text, bytes), 1);
	return to;
}

static bool myself(const char *here, const char *there)
{
	const struct sockaddr_storage a = address_of(here), b = address_of(there);

	return nfs_is_myself(&a, &b);
}

START_TEST(this_machine_is_no_old_server)
{
	ck_assert(myself("192.0.2.1", "192.0.2.1"));
	ck_assert(!myself("192.0.2.1", "192.0.2.2"));
	ck_assert(!myself("127.0.0.1", "127.0.0.1"));
	ck_assert(myself("2001:db8::1", "2001:db8::1"));
	ck_assert(!myself("2001:db8::1", "2001:db8::2"));
	ck_assert(!myself("::1", "::1"));
	ck_assert(!myself("192.0.2.1", "2001:db8::1"));
}
END_TEST

static int option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

START_TEST(sockets_are_reserved_and_undelayed)
{
	struct sockaddr_in local;
	socklen_t len = sizeof(local);
	int fd;

	start(NULL);
	fd = nfs_socket(&address, fake->port);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
	ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	getsockname(fd, (struct sockaddr *)&local, &len);
	ck_assert_uint_lt(ntohs(local.sin_port), 1024);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_add_test(tcase, calls_are_answered);
	tcase_add_test(tcase, calls_end_in_time);
	tcase_add_test(tcase, floods_end_in_time);
	tcase_add_test(tcase, nobody_there_is_away);
	tcase_add_test(tcase, this_machine_is_no_old_server);
	tcase_add_test(tcase, sockets_are_reserved_and_undelayed);
	return run_tcase(tcase);
}
