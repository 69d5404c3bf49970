/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/common/fake.h"

static uint64_t range(struct outcome *outcome)
{
	uint64_t id = migrate_fetch_range(volume, 0, 0, 1, 0, done, outcome);

	ck_assert_uint_ne(id, 0);
	return id;
}

static uint64_t begin(struct outcome *outcome)
{
	uint64_t id = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, outcome);

	ck_assert_uint_ne(id, 0);
	return id;
}

static uint64_t end(uint64_t begun, struct outcome *outcome)
{
	uint64_t id = migrate_end(volume, begun, true, false, 0, 1, done, outcome);

	ck_assert_uint_ne(id, 0);
	return id;
}

START_TEST(replies_out_of_order)
{
	struct outcome o[20] = {0};
	uint64_t ids[20];

	for (int i = 0; i < 20; i++)
		ids[i] = range(&o[i]);
	for (int i = 19; i >= 0; i--)
		fake_reply(MIGRATE_OP_RANGE, ids[i], i % 2 ? -EIO : -EAGAIN);
	dispatch(); /* one round delivers all of them */
	for (int i = 0; i < 20; i++)
		ck_assert(o[i].calls == 1 && o[i].status == (i % 2 ? -EIO : -EAGAIN) &&
			  o[i].order == 19 - i);
}
END_TEST

/* Clients of a file server are told what it makes of these. */
START_TEST(only_errors_of_the_set)
{
	static const int set[] = {EPERM,   ENOENT, EIO,	   EAGAIN,    ENOMEM,	 EACCES,
				  ENFILE,  EMFILE, ENOSPC, EROFS,     ENOLCK,	 EPROTO,
				  EBADMSG, ESTALE, EDQUOT, ECANCELED, EREMOTEIO, ECONNRESET,
				  ENOTDIR, EISDIR, EINVAL};

	for (int error = 1; error < 134; error++) {
		struct outcome o = {0};
		bool in_set = false;

		for (size_t i = 0; i < sizeof set / sizeof *set; i++)
			in_set |= error == set[i];
		fake_reply(MIGRATE_OP_RANGE, range(&o), -error);
		finish(&o);
		ck_assert_int_eq(o.status, in_set ? -error : -EREMOTEIO);
	}
}
END_TEST

/* From within a callback everything may be asked again. */
static void ask_again(void *arg, int status)
{
	struct outcome *outcome = arg;

	done(arg, status);
	range(outcome + 1);
}

START_TEST(requests_from_callbacks)
{
	struct outcome o[2] = {0};
	uint64_t id = migrate_fetch_range(volume, 0, 0, 1, 0, ask_again, &o[0]);

	fake_expect(MIGRATE_OP_RANGE, id);
	fake_reply(MIGRATE_OP_RANGE, id, 0);
	finish(&o[0]);
	fake_expect(MIGRATE_OP_RANGE, id + 1);
	fake_reply(MIGRATE_OP_RANGE, id + 1, 0);
	finish(&o[1]);
}
END_TEST

START_TEST(asked_again_after_a_lost_connection)
{
	struct outcome o[4] = {0}, late = {0};
	struct stat sent, got_st;
	uint64_t ids[4], id;
	int fd = scratch_file("file", 0);

	ids[0] = range(&o[0]);
	ids[1] = migrate_fetch_name(volume, fd, "name", 0, done, &o[1]);
	ids[2] = migrate_sync(volume, fd, done, &o[2]);
	ids[3] = migrate_control(volume, "status", text_done, &o[3]);
	fake_expect(MIGRATE_OP_RANGE, ids[0]);
	fake_close(); /* with the others unread */
	until_away();
	id = range(&late);
	fake_connect();
	fake_expect(MIGRATE_OP_RANGE, ids[0]);
	fake_expect(MIGRATE_OP_NAME, ids[1]);
	ck_assert_mem_eq(got.text, "name", 4);
	ck_assert_uint_eq(got_nfds, 1);
	fstat(fd, &sent);
	fstat(got_fds[0], &got_st);
	ck_assert_uint_eq(sent.st_ino, got_st.st_ino);
	fake_expect(MIGRATE_OP_SYNC, ids[2]);
	fake_expect(MIGRATE_OP_CONTROL, ids[3]);
	fake_expect(MIGRATE_OP_RANGE, id);
	fake_reply(MIGRATE_OP_SYNC, ids[2], 0);
	finish(&o[2]);
	ck_assert_int_eq(o[0].calls + o[1].calls + o[3].calls + late.calls, 0);
	free_volume();
	close(fd);
}
END_TEST

START_TEST(brackets_of_a_lost_connection)
{
	struct outcome open = {0}, ending = {0}, awaiting = {0}, e = {0}, again = {0};
	uint64_t opened = begin(&open), ends = begin(&ending);

	fake_reply(MIGRATE_OP_BEGIN, opened, 0);
	fake_reply(MIGRATE_OP_BEGIN, ends, 0);
	finish(&open);
	finish(&ending);
	end(ends, &e);
	begin(&awaiting);
	fake_close();
	finish(&awaiting);
	finish(&e);
	ck_assert_int_eq(awaiting.status, -ECONNRESET);
	ck_assert_int_eq(e.status, -ECONNRESET);
	/* An open one hears of it at its end, whether the retriever is back by then or not. */
	ck_assert_int_eq(open.calls, 1);
	fake_connect();
	e.calls = 0;
	end(opened, &e);
	ck_assert_int_eq(e.calls, 0);
	finish(&e);
	ck_assert_int_eq(e.status, -ECONNRESET);
	ck_assert(!is_readable(peer, 0));
	/* The whole bracket again. */
	opened = begin(&again);
	fake_expect(MIGRATE_OP_BEGIN, opened);
	fake_reply(MIGRATE_OP_BEGIN, opened, 0);
	finish(&again);
	e.calls = 0;
	fake_expect(MIGRATE_OP_END, end(opened, &e));
	ck_assert_uint_eq(got.ref, opened);
	fake_reply(MIGRATE_OP_END, got.id, 0);
	finish(&e);
	ck_assert_int_eq(e.status, 0);
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

START_TEST(begin_waits_for_the_retriever)
{
	struct outcome o = {0};
	uint64_t id;

	fake_close();
	until_away();
	id = begin(&o);
	fake_connect();
	fake_expect(MIGRATE_OP_BEGIN, id);
	fake_reply(MIGRATE_OP_BEGIN, id, 0);
	finish(&o);
	ck_assert_int_eq(o.status, 0);
}
END_TEST

/* A CANCEL, and a begin that was cancelled, mean nothing to the next retriever. */
START_TEST(cancelled_is_not_asked_again)
{
	struct outcome b = {0}, r = {0}, other = {0};
	uint64_t id = begin(&b);

	migrate_cancel(volume, id);
	migrate_cancel(volume, range(&r));
	finish(&b);
	finish(&r);
	fake_close();
	until_away();
	id = range(&other);
	fake_connect();
	fake_expect(MIGRATE_OP_RANGE, id);
	ck_assert(!is_readable(peer, 0));
	ck_assert_uint_eq(volume->n_requests, 1);
	free_volume();
}
END_TEST

/* ---- a peer that talks nonsense ------------------------------------------------------------ */

static uint64_t pending, opened;

static void send_raw(const void *bytes, size_t len)
{
	ck_assert_int_eq(send(peer, bytes, len, MSG_NOSIGNAL), len);
}

static void send_nonsense(int n)
{
	static uint8_t big[MIGRATE_FRAME_MAX + 1000];
	uint8_t frame[MIGRATE_FRAME_HEADER];
	struct migrate_frame good = {.op = MIGRATE_OP_RANGE | MIGRATE_OP_REPLY, .id = pending};

	migrate_frame_encode(&good, frame, sizeof(frame));
	switch (n) {
	case 0:
		send_raw("garbage", 7);
		break;
	case 1:
		send_raw("", 0);
		break;
	case 2:
		send_raw(big, sizeof(big));
		break;
	case 3:
		send_raw(frame, sizeof(frame) - 1);
		break;
	case 4: /* another operation's reply */
		fake_reply(MIGRATE_OP_NAME, pending, 0);
		break;
	case 5: /* no reply at all */
		fake_send(&(struct migrate_frame){.op = MIGRATE_OP_RANGE, .id = pending});
		break;
	case 6: /* to something never asked */
		fake_reply(MIGRATE_OP_RANGE, 1000000, 0);
		break;
	case 7:
		fake_reply(MIGRATE_OP_HELLO, 0, 0);
		break;
	case 8:
		fake_reply(MIGRATE_OP_RANGE, pending, 1);
		break;
	case 9:
		fake_reply(MIGRATE_OP_RANGE, pending, INT32_MIN);
		break;
	case 10: /* answered already */
		fake_reply(MIGRATE_OP_BEGIN, opened, 0);
		break;
	}
}

START_TEST(nonsense_ends_the_connection)
{
	struct outcome b = {0}, r = {0}, e = {0};
	char byte;

	opened = begin(&b);
	fake_expect(MIGRATE_OP_BEGIN, opened);
	fake_reply(MIGRATE_OP_BEGIN, opened, 0);
	finish(&b);
	pending = range(&r);
	fake_expect(MIGRATE_OP_RANGE, pending);
	send_nonsense(_i);
	until_away();
	ck_assert(is_readable(peer, PATIENCE_MS));
	ck_assert_int_eq(recv(peer, &byte, 1, 0), 0);
	fake_close();
	end(opened, &e);
	finish(&e);
	ck_assert_int_eq(e.status, -ECONNRESET);
	/* And nothing is lost by it. */
	ck_assert_int_eq(r.calls, 0);
	fake_connect();
	fake_expect(MIGRATE_OP_RANGE, pending);
	fake_reply(MIGRATE_OP_RANGE, pending, 0);
	finish(&r);
	ck_assert_int_eq(r.status, 0);
}
END_TEST

START_TEST(nonsense_for_a_hello)
{
	static const struct migrate_frame answers[] = {
		{.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY, .id = 1},
		{.op = MIGRATE_OP_HELLO},
		{.op = MIGRATE_OP_RANGE | MIGRATE_OP_REPLY},
		{.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY, .status = -EACCES},
	};

	fake_close();
	until_away();
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		fake_accept();
		fake_expect(MIGRATE_OP_HELLO, 0);
		fake_send(&answers[i]);
		dispatch();
		ck_assert(!migrate_volume_connected(volume));
		fake_close();
	}
	fake_connect();
}
END_TEST

START_TEST(unwanted_descriptors_are_closed)
{
	struct outcome o = {0};
	struct migrate_frame reply = {.op = MIGRATE_OP_RANGE | MIGRATE_OP_REPLY};
	unsigned before = open_descriptors();
	int fds[2] = {0, 1};

	reply.id = range(&o);
	ck_assert_int_eq(migrate_frame_send(peer, &reply, fds, 2), 0);
	finish(&o);
	ck_assert_uint_eq(open_descriptors(), before);
	ck_assert(migrate_volume_connected(volume));
}
END_TEST

/* Not even for want of room for them. */
START_TEST(unwanted_descriptors_need_no_room)
{
	struct outcome o = {0};
	struct migrate_frame reply = {.op = MIGRATE_OP_RANGE | MIGRATE_OP_REPLY};
	int fds[2] = {0, 1}, next = dup(0);
	struct rlimit limit, none;

	close(next);
	reply.id = range(&o);
	ck_assert_int_eq(migrate_frame_send(peer, &reply, fds, 2), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){next, limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	finish(&o);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(migrate_volume_connected(volume));
}
END_TEST

/* ---- room ---------------------------------------------------------------------------------- */

#define MANY 3000

/* Reads everything that comes, with the client sending when there is room. */
static int read_all(uint64_t *ids, int max)
{
	int n = 0;

	do {
		while (is_readable(peer, 0)) {
			fake_read();
			ck_assert_int_lt(n, max);
			ids[n++] = got.id;
		}
		ck_assert_int_eq(migrate_volume_dispatch(volume, 0), 0);
	} while (is_readable(peer, 0));
	return n;
}

START_TEST(full_socket)
{
	static struct outcome o[MANY], demand[10];
	static uint64_t ids[MANY + 10];
	uint64_t first = 0, first_demand;
	int at = 0;

	for (int i = 0; i < MANY; i++) {
		uint64_t id = migrate_fetch_range(volume, 0, 0, 1, MIGRATE_BACKGROUND, done, &o[i]);

		if (i == 0)
			first = id;
	}
	ck_assert(volume->blocked);
	/* It does not spin meanwhile. */
	ck_assert(!is_readable(migrate_volume_fd(volume), 0));
	first_demand = range(&demand[0]);
	for (int i = 1; i < 10; i++)
		range(&demand[i]);
	ck_assert_int_eq(read_all(ids, MANY + 10), MANY + 10);
	/* Demand went past what was waiting, and each kind kept its order. */
	for (; ids[at] != first_demand; at++)
		ck_assert_uint_eq(ids[at], first + at);
	ck_assert_int_lt(at, MANY / 2);
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(ids[at + i], first_demand + i);
	for (int i = at; i < MANY; i++)
		ck_assert_uint_eq(ids[i + 10], first + i);
	ck_assert(!volume->blocked);
	ck_assert(!is_readable(migrate_volume_fd(volume), 0));
}
END_TEST

START_TEST(full_socket_is_lost)
{
	static struct outcome o[MANY];
	static uint64_t ids[MANY];
	uint64_t first = range(&o[0]);
	int n;

	for (int i = 1; i < MANY; i++)
		range(&o[i]);
	ck_assert(volume->blocked);
	fake_close();
	until_away();
	fake_connect();
	n = read_all(ids, MANY);
	ck_assert_int_eq(n, MANY);
	for (int i = 0; i < MANY; i++) {
		ck_assert_uint_eq(ids[i], first + i);
		fake_reply(MIGRATE_OP_RANGE, ids[i], 0);
		if (i % 50 == 49)
			dispatch();
	}
	finish(&o[MANY - 1]);
	for (int i = 0; i < MANY; i++)
		ck_assert(o[i].calls == 1 && o[i].status == 0);
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

/* What waits for room belongs to this connection: an END, and a CANCEL. */
START_TEST(full_socket_with_a_bracket)
{
	static struct outcome o[MANY];
	static uint64_t ids[MANY];
	struct outcome open[2] = {0}, ends[2] = {0};
	uint64_t begun[2], first = 0;

	for (int i = 0; i < 2; i++) {
		begun[i] = begin(&open[i]);
		fake_expect(MIGRATE_OP_BEGIN, begun[i]);
		fake_reply(MIGRATE_OP_BEGIN, begun[i], 0);
		finish(&open[i]);
	}
	while (!volume->blocked) {
		uint64_t id = range(&o[0]);

		first = first ? first : id;
		migrate_cancel(volume, id);
		finish(&o[0]);
		o[0].calls = 0;
	}
	end(begun[0], &ends[0]);
	migrate_cancel(volume, end(begun[1], &ends[1]));
	finish(&ends[1]);
	ck_assert_int_eq(ends[1].status, -ECANCELED);
	ck_assert_int_eq(ends[0].calls, 0);
	if (_i) { /* with room again both are sent */
		int n = read_all(ids, MANY);

		ck_assert(ids[n - 1] == ids[n - 2] + 1 && ids[n - 2] > first);
		ck_assert_uint_eq(got.op, MIGRATE_OP_END);
		ck_assert_uint_eq(got.ref, begun[1]);
		fake_reply(MIGRATE_OP_END, ids[n - 1], 0);
		fake_reply(MIGRATE_OP_END, ids[n - 2], 0);
		finish(&ends[0]);
		ck_assert_int_eq(ends[0].status, 0);
	} else {
		fake_close();
		finish(&ends[0]);
		ck_assert_int_eq(ends[0].status, -ECONNRESET);
		fake_connect();
		ck_assert(!is_readable(peer, 0));
	}
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

START_TEST(full_backlog)
{
	struct sockaddr_un addr = volume->addr;
	int first, second;

	fake_close();
	close(listener);
	until_away();
	fake_listen(0);
	first = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	second = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(first, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(connect(second, (struct sockaddr *)&addr, sizeof(addr)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	dispatch(); /* tries in vain */
	ck_assert_int_eq(volume->state, AWAY);
	peer = accept(listener, NULL, NULL);
	fake_close();
	fake_connect();
	close(first);
	close(second);
}
END_TEST

START_TEST(pauses_grow)
{
	char path[128];
	unsigned pauses[3];

	snprintf(path, sizeof(path), "%s/sock", scratch);
	fake_close();
	ck_assert_int_eq(unlink(path), 0);
	close(listener);
	until_away();
	for (int i = 0; i < 3; i++) {
		pauses[i] = volume->backoff_ms;
		dispatch();
	}
	ck_assert(pauses[0] == 100 && pauses[1] == 200 && pauses[2] == 400);
	volume->backoff_ms = 1500;
	dispatch();
	ck_assert_uint_eq(volume->backoff_ms, 2000);
	fake_listen(8);
	fake_connect();
	ck_assert_uint_eq(volume->backoff_ms, 50);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client_connection");

	tcase_add_checked_fixture(tcase, fake_setup_connected, fake_teardown);
	tcase_add_test(tcase, replies_out_of_order);
	tcase_add_test(tcase, only_errors_of_the_set);
	tcase_add_test(tcase, requests_from_callbacks);
	tcase_add_test(tcase, asked_again_after_a_lost_connection);
	tcase_add_test(tcase, brackets_of_a_lost_connection);
	tcase_add_test(tcase, begin_waits_for_the_retriever);
	tcase_add_test(tcase, cancelled_is_not_asked_again);
	tcase_add_loop_test(tcase, nonsense_ends_the_connection, 0, 11);
	tcase_add_test(tcase, nonsense_for_a_hello);
	tcase_add_test(tcase, unwanted_descriptors_are_closed);
	tcase_add_test(tcase, unwanted_descriptors_need_no_room);
	tcase_add_test(tcase, full_socket);
	tcase_add_test(tcase, full_socket_is_lost);
	tcase_add_loop_test(tcase, full_socket_with_a_bracket, 0, 2);
	tcase_add_test(tcase, full_backlog);
	tcase_add_test(tcase, pauses_grow);
	return run_case(tcase);
}
