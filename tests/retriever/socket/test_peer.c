/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peers that do not keep to the protocol, die, or talk out of turn. */
#include "tests/retriever/core_hook.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "common/protocol.h"

static struct core core;
static gint shortages; /* atomic: so many more replies find no memory */

ssize_t send(int sock, const void *data, size_t len, int flags)
{
	if (g_atomic_int_get(&shortages) > 0) {
		g_atomic_int_add(&shortages, -1);
		errno = ENOBUFS;
		return -1;
	}
	return sendto(sock, data, len, flags, NULL, 0);
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "f", 64 * KIB, 1);
	core_start(&core);
	return core_find(&core, "f", O_RDWR);
}

static int raw(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, core.socket);
	ck_assert_int_eq(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

static int send_to(int sock, struct migrate_frame frame, int fd)
{
	return migrate_frame_send(sock, &frame, &fd, fd >= 0);
}

/* The reply's status; 1 at the end of the connection. */
static int receive(int sock, uint16_t op, uint64_t id)
{
	static uint8_t buf[MIGRATE_FRAME_MAX];
	struct migrate_frame frame;
	int fds[MIGRATE_FRAME_MAX_FDS];
	size_t nfds = 0;
	ssize_t len = migrate_frame_recv(sock, buf, sizeof(buf), fds, &nfds);

	if (len <= 0)
		return 1;
	ck_assert_int_eq(migrate_frame_decode(buf, len, &frame), 0);
	if (frame.status != -EPROTO) /* what is of another version is not understood */
		ck_assert_uint_eq(frame.op, op | MIGRATE_OP_REPLY);
	ck_assert_uint_eq(frame.id, id);
	return frame.status;
}

static int hello(int sock, const char *name, uint64_t role)
{
	struct migrate_frame frame = {.op = MIGRATE_OP_HELLO, .id = 1, .length = role};

	frame.text = name;
	frame.text_len = strlen(name);
	ck_assert_int_eq(send_to(sock, frame, -1), 0);
	return receive(sock, MIGRATE_OP_HELLO, 1);
}

START_TEST(garbage_ends_the_connection)
{
	const char *const garbage[] = {"", "x", "QMG1", "QMG1\2\0\2\0and not enough of it"};
	int fd = start();

	for (size_t i = 0; i < G_N_ELEMENTS(garbage); i++) {
		int sock = raw();

		ck_assert_int_ge(send(sock, garbage[i], strlen(garbage[i]), 0), 0);
		ck_assert_int_eq(receive(sock, 0, 0), 1);
		close(sock);
	}
	ck_assert_int_eq(core_range(&core, fd, 0, 10), 0); /* the others do not notice */
	core_free_with(&core, fd);
}
END_TEST

START_TEST(another_version)
{
	uint8_t buf[MIGRATE_FRAME_HEADER + 4];
	struct migrate_frame frame = {.op = MIGRATE_OP_HELLO, .id = 7, .length = 1};
	int sock, fd = start();

	frame.text = "test";
	frame.text_len = 4;
	ck_assert_int_eq(migrate_frame_encode(&frame, buf, sizeof(buf)), sizeof(buf));
	buf[4]++;
	sock = raw();
	ck_assert_int_eq(send(sock, buf, sizeof(buf), 0), sizeof(buf));
	ck_assert_int_eq(receive(sock, MIGRATE_OP_HELLO, 7), -EPROTO);
	ck_assert_int_eq(receive(sock, 0, 0), 1);
	close(sock);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(another_volume)
{
	int sock, fd = start();

	sock = raw();
	ck_assert_int_eq(hello(sock, "tes", MIGRATE_ROLE_DOOR), -EINVAL);
	ck_assert_int_eq(receive(sock, 0, 0), 1);
	close(sock);
	sock = raw();
	ck_assert_int_eq(hello(sock, "test", 9), -EINVAL);
	ck_assert_int_eq(receive(sock, 0, 0), 1);
	close(sock);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(nothing_before_hello)
{
	int sock, fd = start();

	sock = raw();
	send_to(sock, (struct migrate_frame){.op = MIGRATE_OP_SYNC, .id = 1}, fd);
	ck_assert_int_eq(receive(sock, 0, 0), 1);
	close(sock);
	core_free_with(&core, fd);
}
END_TEST

/* Requests that make no sense are refused, the connection stays. */
START_TEST(requests_that_make_no_sense)
{
	const char *const names[] = {"", "a/b", "..", "."};
	struct migrate_frame f = {.id = 2};
	int sock, root, fd = start();
	int pipes[2];

	root = core_root(&core);
	sock = raw();
	ck_assert_int_eq(hello(sock, "test", MIGRATE_ROLE_DOOR), 0);
	f.op = MIGRATE_OP_RANGE;
	send_to(sock, f, -1);
	ck_assert_int_eq(receive(sock, f.op, 2), -EINVAL);
	send_to(sock, f, root);
	ck_assert_int_eq(receive(sock, f.op, 2), -EISDIR);
	f.offset = f.length = UINT64_MAX;
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), 0);
	f.op = MIGRATE_OP_FILL;
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), -ENOTDIR);
	f.op = MIGRATE_OP_FINISH;
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), -ENOTDIR);
	f.op = MIGRATE_OP_BEGIN;
	f.change = 77;
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), -EINVAL);
	f.change = MIGRATE_PLACE; /* and no directory */
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), -EINVAL);
	f.op = MIGRATE_OP_END;
	f.ref = 5;
	send_to(sock, f, -1);
	ck_assert_int_eq(receive(sock, f.op, 2), -EINVAL);
	/* a change where no file reaches: the bracket ends all the same, and fills go on */
	f = (struct migrate_frame){.op = MIGRATE_OP_BEGIN, .id = 2, .change = MIGRATE_TRUNCATE};
	f.offset = (uint64_t)INT64_MAX + 1;
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 2), 0);
	f.op = MIGRATE_OP_END;
	f.id = 3;
	f.ref = 2;
	f.flags = MIGRATE_END_CHANGED;
	send_to(sock, f, -1);
	ck_assert_int_eq(receive(sock, f.op, 3), 0);
	f = (struct migrate_frame){.op = MIGRATE_OP_RANGE, .id = 4, .length = 10};
	send_to(sock, f, fd);
	ck_assert_int_eq(receive(sock, f.op, 4), 0);
	f = (struct migrate_frame){.op = MIGRATE_OP_NAME, .id = 2};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		f.text = names[i];
		f.text_len = strlen(names[i]);
		send_to(sock, f, root);
		ck_assert_int_lt(receive(sock, f.op, 2), 0);
	}
	f.text = "f\0x";
	f.text_len = 3;
	send_to(sock, f, root);
	ck_assert_int_eq(receive(sock, f.op, 2), -ENOENT);
	f = (struct migrate_frame){.op = MIGRATE_OP_CONTROL, .id = 2, .text = "dance"};
	f.text_len = 5;
	send_to(sock, f, -1);
	ck_assert_int_eq(receive(sock, f.op, 2), -EINVAL);
	ck_assert_int_eq(pipe(pipes), 0); /* no object of a file system */
	f = (struct migrate_frame){.op = MIGRATE_OP_RANGE, .id = 2};
	send_to(sock, f, pipes[0]);
	ck_assert_int_lt(receive(sock, f.op, 2), 0);
	close(sock);
	close(root);
	core_free_with(&core, fd);
}
END_TEST

/* A door that dies between BEGIN and its answer, between BEGIN and END, after END: the file can be
 * read and written by others. */
START_TEST(doors_that_die)
{
	struct migrate_frame begin = {.op = MIGRATE_OP_BEGIN, .id = 2};
	struct migrate_frame end = {.op = MIGRATE_OP_END, .id = 3, .ref = 2};
	int fd = start();

	begin.change = MIGRATE_TRUNCATE;
	end.flags = MIGRATE_END_CHANGED | MIGRATE_END_DURABLE;
	end.offset = 64 * KIB;
	for (unsigned i = 0; i < 30; i++) {
		int sock = raw();

		ck_assert_int_eq(hello(sock, "test", MIGRATE_ROLE_DOOR), 0);
		send_to(sock, begin, fd);
		if (i % 3)
			ck_assert_int_eq(receive(sock, begin.op, 2), 0);
		if (i % 3 == 2)
			send_to(sock, end, -1);
		close(sock);
	}
	ck_assert_int_eq(core_write(&core, fd, 0, 100, 9, false), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 100, 9);
	core_expect(fd, 100, 64 * KIB - 100, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A peer that asks and never reads: its answers are kept, the others are served. */
START_TEST(a_peer_that_does_not_read)
{
	struct migrate_frame f = {.op = MIGRATE_OP_RANGE};
	int sock, fd = start();

	sock = raw();
	ck_assert_int_eq(hello(sock, "test", MIGRATE_ROLE_DOOR), 0);
	for (f.id = 2; f.id < 3000; f.id++)
		ck_assert_int_eq(send_to(sock, f, fd), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	for (f.id = 2; f.id < 3000; f.id++)
		if (receive(sock, f.op, f.id) != 0)
			ck_abort();
	close(sock);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_reply_that_finds_no_memory)
{
	int fd = start();

	g_atomic_int_set(&shortages, 5);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(g_atomic_int_get(&shortages), 0);
	core_expect(fd, 0, 64 * KIB, 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(cancel)
{
	uint64_t id;
	struct migrate_waiter *w;
	unsigned rule;
	int fd = start();

	rule = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ, .action = FAULT_STALL});
	w = migrate_waiter_new();
	id = migrate_fetch_range(core.volume, fd, 0, UINT64_MAX, 0, migrate_waiter_done, w);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	migrate_cancel(core.volume, id);
	ck_assert_int_eq(core_wait(w), -ECANCELED);
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 64 * KIB, 1);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("peer", 60);

	tcase_add_test(tcase, garbage_ends_the_connection);
	tcase_add_test(tcase, another_version);
	tcase_add_test(tcase, another_volume);
	tcase_add_test(tcase, nothing_before_hello);
	tcase_add_test(tcase, requests_that_make_no_sense);
	tcase_add_test(tcase, doors_that_die);
	tcase_add_test(tcase, a_peer_that_does_not_read);
	tcase_add_test(tcase, a_reply_that_finds_no_memory);
	tcase_add_test(tcase, cancel);
	return run_tcase(tcase);
}
