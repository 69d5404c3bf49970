/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/source/smb/smb_worker.h"
#include "tests/retriever/smb_share.h"

static struct smb_worker worker;

static int start(const char *password, size_t ccache_len)
{
	g_autofree uint8_t *ccache = g_malloc0(ccache_len + 1);
	const struct wire_start how = {.host = "host",
				       .share = "good",
				       .path = "",
				       .user = "user",
				       .domain = "",
				       .password = password,
				       .ccache = ccache_len ? ccache : NULL,
				       .ccache_len = ccache_len};

	return smb_worker_start(&worker, SMB_READER, &how);
}

/* Its next reply; 0: it has ended. */
static ssize_t hear(struct wire_reply *reply)
{
	struct pollfd ready = {.fd = worker.sock, .events = POLLIN};

	ck_assert(fcntl(worker.sock, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(poll(&ready, 1, -1), 1);
	return recv(worker.sock, reply, sizeof(*reply), 0);
}

/* It is told how to connect; it shares the memory, and can make it neither smaller nor larger: it
 * tries (fake_worker.c). */
START_TEST(a_worker)
{
	struct wire_request request = {.slot = 3, .op = WIRE_READ, .count = 100, .offset = 7};
	struct wire_reply reply;
	int status;

	ck_assert_int_eq(start("secret", 0), 0);
	ck_assert_int_eq(hear(&reply), sizeof(reply));
	ck_assert_uint_eq(reply.type, WIRE_HELLO);
	memset(worker.memory + 3 * WIRE_SLOT_BYTES, 1, 101);
	ck_assert_int_eq(send(worker.sock, &request, sizeof(request), 0), sizeof(request));
	ck_assert_int_eq(hear(&reply), sizeof(reply));
	ck_assert_uint_eq(reply.len, 100);
	ck_assert_uint_eq(worker.memory[3 * WIRE_SLOT_BYTES], 7);
	ck_assert_uint_eq(worker.memory[3 * WIRE_SLOT_BYTES + 99], 7);
	ck_assert_uint_eq(worker.memory[3 * WIRE_SLOT_BYTES + 100], 1);
	status = smb_worker_end(&worker);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(waitpid(worker.pid, NULL, 0), -1);
}
END_TEST

START_TEST(one_that_ended_by_itself)
{
	struct wire_reply reply;
	int status;

	ck_assert_int_eq(start("wrong", 0), 0);
	ck_assert_int_eq(hear(&reply), 0);
	status = smb_worker_end(&worker);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}
END_TEST

START_TEST(what_cannot_be_started)
{
	ck_assert_int_eq(start("secret", WIRE_SLOT_BYTES), -E2BIG);
	g_setenv("MIGRATE_SMB_WORKER", "/nothing", TRUE);
	ck_assert_int_eq(start("secret", 0), -ENOENT);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = worker_tcase(argv[0]);

	tcase_add_test(tcase, a_worker);
	tcase_add_test(tcase, one_that_ended_by_itself);
	tcase_add_test(tcase, what_cannot_be_started);
	return run_tcase(tcase);
}
