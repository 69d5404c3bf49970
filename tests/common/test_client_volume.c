/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "tests/common/fake.h"

START_TEST(bad_arguments)
{
	struct migrate_volume *none = NULL;
	char name[300];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	ck_assert_int_eq(migrate_volume_new("", NULL, MIGRATE_ROLE_DOOR, &none), -EINVAL);
	ck_assert_int_eq(migrate_volume_new("a/b", NULL, MIGRATE_ROLE_DOOR, &none), -EINVAL);
	ck_assert_int_eq(migrate_volume_new(name, "/run/x", MIGRATE_ROLE_DOOR, &none), -EINVAL);
	name[200] = 0;
	ck_assert_int_eq(migrate_volume_new(name, NULL, MIGRATE_ROLE_DOOR, &none), -EINVAL);
	ck_assert_int_eq(migrate_volume_new("a", name, MIGRATE_ROLE_DOOR, &none), -EINVAL);
	ck_assert_ptr_null(none);
	migrate_volume_free(NULL);
}
END_TEST

START_TEST(default_address)
{
	struct migrate_volume *other;

	ck_assert_int_eq(migrate_volume_new("projects", NULL, MIGRATE_ROLE_DOOR, &other), 0);
	ck_assert_str_eq(other->addr.sun_path, "/run/quickmigrate/projects.sock");
	migrate_volume_free(other);
}
END_TEST

START_TEST(nothing_leaks)
{
	unsigned before = open_descriptors();

	for (int i = 0; i < 10; i++) {
		struct migrate_volume *other;

		ck_assert_int_eq(migrate_volume_new("a", NULL, MIGRATE_ROLE_DOOR, &other), 0);
		migrate_volume_free(other);
	}
	ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

START_TEST(connects_when_the_retriever_comes)
{
	int fd = migrate_volume_fd(volume);

	/* There is something to do at once, and then nobody there. */
	ck_assert(is_readable(fd, PATIENCE_MS));
	dispatch();
	dispatch();
	ck_assert(!migrate_volume_connected(volume));
	ck_assert(!migrate_volume_reached(volume));
	ck_assert_uint_eq(migrate_volume_hold_ms(volume), 500);
	ck_assert(!migrate_volume_finished(volume));
	ck_assert(!migrate_volume_descriptors(volume));
	fake_listen(8);
	fake_accept();
	fake_expect(MIGRATE_OP_HELLO, 0);
	ck_assert(migrate_volume_reached(volume) && !migrate_volume_connected(volume));
	ck_assert_uint_eq(got.length, MIGRATE_ROLE_DOOR);
	ck_assert_uint_eq(got.text_len, strlen("projects"));
	ck_assert_mem_eq(got.text, "projects", got.text_len);
	fake_send(&(struct migrate_frame){.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY,
					  .length = 321,
					  .offset = 1,
					  .flags = MIGRATE_HELLO_DESCRIPTORS});
	dispatch();
	ck_assert(migrate_volume_connected(volume));
	ck_assert_uint_eq(migrate_volume_hold_ms(volume), 321);
	ck_assert(migrate_volume_finished(volume));
	ck_assert(migrate_volume_descriptors(volume));
	ck_assert_int_eq(migrate_volume_fd(volume), fd);
	fake_close();
	until_away();
	fake_connect();
	ck_assert_int_eq(migrate_volume_fd(volume), fd);
	ck_assert_uint_eq(migrate_volume_hold_ms(volume), 250);
}
END_TEST

START_TEST(absurd_hold_times_are_bounded)
{
	fake_listen(8);
	fake_accept();
	fake_expect(MIGRATE_OP_HELLO, 0);
	fake_send(&(struct migrate_frame){.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY,
					  .length = UINT64_MAX});
	dispatch();
	ck_assert_uint_eq(migrate_volume_hold_ms(volume), 60000);
}
END_TEST

static void *wake(void *arg)
{
	migrate_volume_wake(volume);
	return NULL;
}

START_TEST(wake_ends_a_dispatch)
{
	pthread_t thread;

	fake_listen(8);
	fake_connect();
	ck_assert_int_eq(pthread_create(&thread, NULL, wake, NULL), 0);
	ck_assert_int_eq(migrate_volume_dispatch(volume, -1), 0);
	pthread_join(thread, NULL);
	ck_assert(!is_readable(migrate_volume_fd(volume), 0));
}
END_TEST

START_TEST(dispatch_does_not_wait_when_told)
{
	fake_listen(8);
	fake_connect();
	ck_assert_int_eq(migrate_volume_dispatch(volume, 0), 0);
}
END_TEST

/* Hosts give up on a closing volume, but their callbacks may still try. */
static void stubborn(void *arg, int status)
{
	done(arg, status);
	ck_assert_uint_eq(migrate_sync(volume, 0, done, arg), 0);
	ck_assert_uint_eq(migrate_end(volume, 2, true, true, 0, 0, done, arg), 0);
	migrate_cancel(volume, 1);
}

START_TEST(free_completes_everything)
{
	struct outcome sent = {0}, begin = {0}, open = {0}, queued = {0}, cancelled = {0},
		       end = {0};
	uint64_t id, other;

	fake_listen(8);
	fake_connect();
	ck_assert(migrate_fetch_range(volume, 0, 0, 1, 0, stubborn, &sent));
	ck_assert(migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &begin));
	id = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &open);
	fake_reply(MIGRATE_OP_BEGIN, id, 0);
	finish(&open);
	other = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &cancelled);
	fake_reply(MIGRATE_OP_BEGIN, other, 0);
	finish(&cancelled);
	ck_assert(migrate_end(volume, other, true, false, 0, 1, done, &end));
	id = migrate_sync(volume, 0, done, &queued);
	cancelled.calls = 0;
	migrate_cancel(volume, id);
	free_volume();
	ck_assert(sent.calls == 1 && sent.status == -ECANCELED);
	ck_assert(begin.calls == 1 && begin.status == -ECANCELED);
	ck_assert(end.calls == 1 && end.status == -ECANCELED);
	ck_assert(queued.calls == 1 && queued.status == -ECANCELED);
	ck_assert(open.calls == 1 && open.status == 0);
}
END_TEST

START_TEST(free_while_away)
{
	struct outcome range = {0}, begin = {0};

	ck_assert(migrate_fetch_range(volume, 0, 0, 1, 0, done, &range));
	ck_assert(migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &begin));
	free_volume();
	ck_assert(range.calls == 1 && range.status == -ECANCELED);
	ck_assert(begin.calls == 1 && begin.status == -ECANCELED);
}
END_TEST

static void refuse_hello(void)
{
	fake_accept();
	fake_expect(MIGRATE_OP_HELLO, 0);
	fake_reply(MIGRATE_OP_HELLO, 0, -EPROTO);
	ck_assert_int_eq(migrate_volume_dispatch(volume, PATIENCE_MS), -EPROTO);
	fake_close();
}

START_TEST(other_version)
{
	struct outcome early = {0}, late = {0}, begin = {0}, after = {0};

	fake_listen(8);
	ck_assert(migrate_fetch_range(volume, 0, 0, 1, 0, done, &early));
	refuse_hello();
	ck_assert(early.calls == 1 && early.status == -EAGAIN);
	ck_assert(!migrate_volume_connected(volume));
	/* Meanwhile: not yet. */
	ck_assert(migrate_fetch_range(volume, 0, 0, 1, 0, done, &late));
	ck_assert(migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &begin));
	ck_assert_int_eq(late.calls, 0);
	ck_assert(is_readable(migrate_volume_fd(volume), 0));
	ck_assert_int_eq(migrate_volume_dispatch(volume, PATIENCE_MS), -EPROTO);
	ck_assert(late.calls == 1 && late.status == -EAGAIN);
	ck_assert(begin.calls == 1 && begin.status == -EAGAIN);
	/* Until the retriever is replaced. */
	fake_connect();
	ck_assert(migrate_fetch_range(volume, 0, 0, 1, 0, done, &after));
	fake_read();
	fake_reply(MIGRATE_OP_RANGE, got.id, 0);
	finish(&after);
	ck_assert_int_eq(after.status, 0);
}
END_TEST

/* A retriever that is so different that even its frames are. */
START_TEST(frames_of_another_version)
{
	struct outcome begin = {0}, open = {0}, end = {0};
	uint8_t frame[64] = "QMG1\1\0\1\0";
	uint64_t id;

	fake_listen(8);
	fake_connect();
	id = migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &open);
	fake_reply(MIGRATE_OP_BEGIN, id, 0);
	finish(&open);
	ck_assert(migrate_begin(volume, 0, -1, MIGRATE_WRITE, 0, 1, done, &begin));
	ck_assert_int_eq(send(peer, frame, sizeof(frame), 0), sizeof(frame));
	ck_assert_int_eq(migrate_volume_dispatch(volume, PATIENCE_MS), -EPROTO);
	ck_assert(begin.calls == 1 && begin.status == -ECONNRESET);
	ck_assert(migrate_end(volume, id, true, false, 0, 1, done, &end));
	ck_assert_int_eq(migrate_volume_dispatch(volume, PATIENCE_MS), -EPROTO);
	ck_assert(end.calls == 1 && end.status == -ECONNRESET);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client");

	tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
	tcase_add_test(tcase, bad_arguments);
	tcase_add_test(tcase, default_address);
	tcase_add_test(tcase, nothing_leaks);
	tcase_add_test(tcase, connects_when_the_retriever_comes);
	tcase_add_test(tcase, absurd_hold_times_are_bounded);
	tcase_add_test(tcase, wake_ends_a_dispatch);
	tcase_add_test(tcase, dispatch_does_not_wait_when_told);
	tcase_add_test(tcase, free_completes_everything);
	tcase_add_test(tcase, free_while_away);
	tcase_add_test(tcase, other_version);
	tcase_add_test(tcase, frames_of_another_version);
	return run_case(tcase);
}
