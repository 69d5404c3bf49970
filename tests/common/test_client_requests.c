/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <sys/stat.h>

#include "tests/common/fake.h"

static int fd, dir;

static void setup(void)
{
	fake_setup_connected();
	fd = scratch_file("file", 0);
	dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	close(fd);
	close(dir);
	fake_teardown();
}

static void check_fd(size_t i, int original)
{
	struct stat a, b;

	ck_assert_uint_lt(i, got_nfds);
	ck_assert_int_eq(fstat(got_fds[i], &a), 0);
	ck_assert_int_eq(fstat(original, &b), 0);
	ck_assert(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

/* The frame in `got` against what a request should look like. */
static void check_frame(const struct migrate_frame *want, const char *text, size_t nfds)
{
	ck_assert_uint_eq(got.op, want->op);
	ck_assert_uint_eq(got.id, want->id);
	ck_assert_int_eq(got.status, 0);
	ck_assert_uint_eq(got.flags, want->flags);
	ck_assert_uint_eq(got.offset, want->offset);
	ck_assert_uint_eq(got.length, want->length);
	ck_assert_uint_eq(got.ref, want->ref);
	ck_assert_uint_eq(got.change, want->change);
	ck_assert_uint_eq(got.text_len, strlen(text));
	ck_assert_mem_eq(got.text, text, got.text_len);
	ck_assert_uint_eq(got_nfds, nfds);
}

static void answer(struct outcome *outcome, int status)
{
	fake_reply(got.op, got.id, status);
	finish(outcome);
	ck_assert_int_eq(outcome->status, status);
	*outcome = (struct outcome){0};
}

START_TEST(frames)
{
	struct outcome o = {0};
	struct migrate_frame want = {.op = MIGRATE_OP_RANGE, .offset = 7, .length = UINT64_MAX};

	want.id = migrate_fetch_range(volume, fd, 7, UINT64_MAX, 0, done, &o);
	fake_read();
	check_frame(&want, "", 1);
	check_fd(0, fd);
	answer(&o, 0);

	want.flags = MIGRATE_BACKGROUND;
	want.id = migrate_fetch_range(volume, fd, 7, UINT64_MAX, MIGRATE_BACKGROUND, done, &o);
	fake_read();
	check_frame(&want, "", 1);
	answer(&o, -ESTALE);

	want = (struct migrate_frame){.op = MIGRATE_OP_NAME};
	want.id = migrate_fetch_name(volume, dir, "\xff name", 0, done, &o);
	fake_read();
	check_frame(&want, "\xff name", 1);
	check_fd(0, dir);
	answer(&o, -ENOENT);

	want = (struct migrate_frame){.op = MIGRATE_OP_FILL,
				      .flags = MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA};
	want.id = migrate_fill_directory(volume, dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA, done,
					 &o);
	fake_read();
	check_frame(&want, "", 1);
	answer(&o, 0);

	want = (struct migrate_frame){.op = MIGRATE_OP_FINISH};
	want.id = migrate_finish_directory(volume, dir, done, &o);
	fake_read();
	check_frame(&want, "", 1);
	answer(&o, -EAGAIN);

	want = (struct migrate_frame){.op = MIGRATE_OP_SYNC};
	want.id = migrate_sync(volume, fd, done, &o);
	fake_read();
	check_frame(&want, "", 1);
	answer(&o, -ENOSPC);
}
END_TEST

START_TEST(bracket)
{
	struct outcome o = {0};
	struct migrate_frame want = {
		.op = MIGRATE_OP_BEGIN, .change = MIGRATE_PUNCH, .offset = 5, .length = 6};
	uint64_t begun;

	begun = want.id = migrate_begin(volume, fd, -1, MIGRATE_PUNCH, 5, 6, done, &o);
	fake_read();
	check_frame(&want, "", 1);
	/* Too early. */
	ck_assert_uint_eq(migrate_end(volume, begun, true, false, 5, 6, done, &o), 0);
	ck_assert_int_eq(errno, EINVAL);
	answer(&o, 0);
	migrate_cancel(volume, begun); /* an open bracket is not cancelled */
	want = (struct migrate_frame){.op = MIGRATE_OP_END,
				      .ref = begun,
				      .flags = MIGRATE_END_CHANGED | MIGRATE_END_DURABLE,
				      .offset = 5,
				      .length = 6};
	want.id = migrate_end(volume, begun, true, true, 5, 6, done, &o);
	fake_read();
	check_frame(&want, "", 0);
	answer(&o, 0);
	ck_assert_uint_eq(migrate_end(volume, begun, true, false, 5, 6, done, &o), 0);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* The linker leads calls of calloc() here. */
static bool no_memory;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (!no_memory)
		return __real_calloc(n, size);
	errno = ENOMEM;
	return NULL;
}

/* A bracket that is open can be ended: else nothing could write to that file for ever. */
START_TEST(a_bracket_ends_without_memory)
{
	struct outcome o = {0};
	uint64_t begun = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 1, done, &o), ended;

	fake_expect(MIGRATE_OP_BEGIN, begun);
	fake_reply(MIGRATE_OP_BEGIN, begun, 0);
	finish(&o);
	no_memory = true;
	ck_assert_uint_eq(migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 1, done, &o), 0);
	ck_assert_int_eq(errno, ENOMEM);
	ended = migrate_end(volume, begun, true, false, 0, 1, done, &o);
	no_memory = false;
	ck_assert_uint_ne(ended, 0);
	fake_expect(MIGRATE_OP_END, ended);
	ck_assert_uint_eq(got.ref, begun);
	o.calls = 0;
	fake_reply(MIGRATE_OP_END, ended, 0);
	finish(&o);
}
END_TEST

START_TEST(place)
{
	struct outcome o = {0};
	struct migrate_frame want = {.op = MIGRATE_OP_BEGIN, .change = MIGRATE_PLACE};

	want.id = migrate_begin(volume, fd, dir, MIGRATE_PLACE, 0, 0, done, &o);
	fake_read();
	check_frame(&want, "", 2);
	check_fd(0, fd);
	check_fd(1, dir);
	answer(&o, -EIO);
	/* No bracket came of it. */
	ck_assert_uint_eq(migrate_end(volume, want.id, false, false, 0, 0, done, &o), 0);
}
END_TEST

START_TEST(control)
{
	struct outcome o = {0};
	struct migrate_frame want = {.op = MIGRATE_OP_CONTROL}, reply = {0};

	want.id = migrate_control(volume, "throttle 100", text_done, &o);
	fake_read();
	check_frame(&want, "throttle 100", 0);
	reply = (struct migrate_frame){.op = MIGRATE_OP_CONTROL | MIGRATE_OP_REPLY,
				       .id = want.id,
				       .text = "[a]\nb=c\nrest",
				       .text_len = 8};
	fake_send(&reply);
	finish(&o);
	ck_assert_int_eq(o.status, 0);
	ck_assert_str_eq(o.text, "[a]\nb=c\n");
	/* A refusal says why. */
	o.calls = 0;
	reply.id = migrate_control(volume, "nonsense", text_done, &o);
	reply.status = -ENOENT;
	fake_send(&reply);
	finish(&o);
	ck_assert_int_eq(o.status, -ENOENT);
	ck_assert_str_eq(o.text, "[a]\nb=c\n");
	o.calls = 0;
	migrate_cancel(volume, migrate_control(volume, "status", text_done, &o));
	finish(&o);
	ck_assert_int_eq(o.status, -ECANCELED);
	ck_assert_str_eq(o.text, "");
}
END_TEST

#define REFUSED(call)                                                                              \
	do {                                                                                       \
		errno = 0;                                                                         \
		ck_assert_uint_eq(call, 0);                                                        \
		ck_assert_int_eq(errno, EINVAL);                                                   \
	} while (0)

START_TEST(bad_arguments)
{
	struct outcome o = {0};
	char long_text[63 * 1024 + 2]; /* one more than fits */

	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = 0;
	REFUSED(migrate_control(volume, long_text, text_done, &o));
	REFUSED(migrate_control(volume, "", text_done, &o));
	long_text[256] = 0;
	REFUSED(migrate_fetch_name(volume, dir, long_text, 0, done, &o));
	REFUSED(migrate_fetch_name(volume, dir, "", 0, done, &o));
	REFUSED(migrate_fetch_name(volume, dir, "..", 0, done, &o));
	REFUSED(migrate_fetch_name(volume, dir, "a/b", 0, done, &o));
	REFUSED(migrate_fetch_name(volume, -1, "a", 0, done, &o));
	REFUSED(migrate_fetch_range(volume, -1, 0, 0, 0, done, &o));
	REFUSED(migrate_fetch_range(volume, fd, 0, 0, MIGRATE_DATA, done, &o));
	REFUSED(migrate_fill_directory(volume, dir, 8, done, &o));
	REFUSED(migrate_finish_directory(volume, -1, done, &o));
	REFUSED(migrate_sync(volume, -1, done, &o));
	REFUSED(migrate_begin(volume, fd, dir, MIGRATE_WRITE, 0, 1, done, &o));
	REFUSED(migrate_begin(volume, fd, -1, MIGRATE_PLACE, 0, 1, done, &o));
	REFUSED(migrate_begin(volume, fd, -1, 6, 0, 1, done, &o));
	REFUSED(migrate_end(volume, 0, true, true, 0, 1, done, &o));
	REFUSED(migrate_end(volume, 99, true, true, 0, 1, done, &o));
	ck_assert_int_eq(migrate_volume_dispatch(volume, 0), 0);
	ck_assert(!is_readable(peer, 0));
	ck_assert_int_eq(o.calls, 0);
}
END_TEST

START_TEST(cancel_of_a_request)
{
	struct outcome o = {0}, next = {0};
	uint64_t id = migrate_fetch_range(volume, fd, 0, 1, 0, done, &o);

	fake_expect(MIGRATE_OP_RANGE, id);
	migrate_cancel(volume, id);
	migrate_cancel(volume, id);
	ck_assert_int_eq(o.calls, 0); /* never from within a call */
	dispatch();
	ck_assert(o.calls == 1 && o.status == -ECANCELED);
	fake_expect(MIGRATE_OP_CANCEL, 0);
	ck_assert_uint_eq(got.ref, id);
	ck_assert(!is_readable(peer, 0));
	/* The reply that was on its way already is no offence. */
	fake_reply(MIGRATE_OP_RANGE, id, 0);
	id = migrate_fetch_range(volume, fd, 0, 1, 0, done, &next);
	fake_expect(MIGRATE_OP_RANGE, id);
	fake_reply(MIGRATE_OP_RANGE, id, 0);
	finish(&next);
	ck_assert_int_eq(next.status, 0);
	ck_assert_int_eq(o.calls, 1);
	ck_assert(migrate_volume_connected(volume));
	migrate_cancel(volume, id);
	migrate_cancel(volume, 12345);
}
END_TEST

/* What may be asked for without end is refused; what ends something is not.  A cancel makes room.
 */
START_TEST(a_budget)
{
	struct outcome o[8] = {0};
	uint64_t ids[3], begun;

	migrate_volume_limit(volume, 4);
	ck_assert(!migrate_volume_crowded(volume));
	begun = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 9, done, &o[0]);
	ck_assert(migrate_volume_crowded(volume));
	fake_expect(MIGRATE_OP_BEGIN, begun);
	fake_reply(MIGRATE_OP_BEGIN, begun, 0);
	finish(&o[0]);
	for (int i = 0; i < 3; i++) {
		ids[i] = migrate_fetch_range(volume, fd, i, 1, 0, done, &o[i + 1]);
		fake_expect(MIGRATE_OP_RANGE, ids[i]);
	}
	errno = 0;
	ck_assert_uint_eq(migrate_fetch_range(volume, fd, 9, 1, 0, done, &o[7]), 0);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(migrate_fetch_name(volume, dir, "name", 0, done, &o[7]), 0);
	ck_assert_uint_eq(migrate_fill_directory(volume, dir, 0, done, &o[7]), 0);
	ck_assert_uint_eq(migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 9, done, &o[7]), 0);
	ck_assert_uint_ne(migrate_sync(volume, fd, done, &o[5]), 0);
	ck_assert_uint_ne(migrate_end(volume, begun, true, false, 0, 9, done, &o[6]), 0);
	for (int i = 0; i < 3; i++) {
		migrate_cancel(volume, ids[i]);
		finish(&o[i + 1]);
	}
	ck_assert_uint_eq(volume->n_requests, 2);
	ck_assert_uint_ne(migrate_fetch_range(volume, fd, 9, 1, 0, done, &o[4]), 0);
	ck_assert_int_eq(o[7].calls, 0);
	free_volume();
}
END_TEST

START_TEST(cancel_before_it_was_sent)
{
	struct outcome o = {0}, kept = {0};
	uint64_t id;

	fake_close();
	until_away();
	id = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 1, done, &o);
	migrate_cancel(volume, id);
	finish(&o);
	ck_assert_int_eq(o.status, -ECANCELED);
	id = migrate_fetch_range(volume, fd, 0, 1, 0, done, &kept);
	fake_connect();
	fake_expect(MIGRATE_OP_RANGE, id);
	ck_assert(!is_readable(peer, 0));
	free_volume();
}
END_TEST

/* The retriever opened the bracket before it read the CANCEL: somebody has to end it. */
START_TEST(cancel_of_a_begin_too_late)
{
	struct outcome o = {0};
	uint64_t id = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 9, done, &o);

	fake_expect(MIGRATE_OP_BEGIN, id);
	migrate_cancel(volume, id);
	finish(&o);
	ck_assert_int_eq(o.status, -ECANCELED);
	fake_expect(MIGRATE_OP_CANCEL, 0);
	fake_reply(MIGRATE_OP_BEGIN, id, 0);
	dispatch();
	fake_read();
	ck_assert_uint_eq(got.op, MIGRATE_OP_END);
	ck_assert_uint_gt(got.id, id);
	ck_assert_uint_eq(got.ref, id);
	ck_assert_uint_eq(got.flags, 0);
	ck_assert_uint_eq(got_nfds, 0);
	fake_reply(MIGRATE_OP_END, got.id, 0);
	dispatch();
	ck_assert_int_eq(o.calls, 1);
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

START_TEST(cancel_of_a_begin_in_time)
{
	struct outcome o = {0};
	uint64_t id = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 9, done, &o);

	migrate_cancel(volume, id);
	finish(&o);
	fake_expect(MIGRATE_OP_BEGIN, id);
	fake_expect(MIGRATE_OP_CANCEL, 0);
	fake_reply(MIGRATE_OP_BEGIN, id, -ECANCELED);
	dispatch();
	ck_assert(!is_readable(peer, 0));
	ck_assert_int_eq(o.calls, 1);
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

START_TEST(cancel_of_an_end)
{
	struct outcome begin = {0}, end = {0};
	uint64_t begun = migrate_begin(volume, fd, -1, MIGRATE_WRITE, 0, 9, done, &begin), id;

	fake_expect(MIGRATE_OP_BEGIN, begun);
	fake_reply(MIGRATE_OP_BEGIN, begun, 0);
	finish(&begin);
	id = migrate_end(volume, begun, true, true, 0, 9, done, &end);
	migrate_cancel(volume, id);
	finish(&end);
	ck_assert_int_eq(end.status, -ECANCELED);
	/* It goes on without an audience. */
	fake_expect(MIGRATE_OP_END, id);
	ck_assert(!is_readable(peer, 0));
	fake_reply(MIGRATE_OP_END, id, 0);
	dispatch();
	ck_assert_int_eq(end.calls, 1);
	ck_assert_uint_eq(volume->n_requests, 0);
}
END_TEST

/* The host's fault, and its alone: others are not disturbed. */
START_TEST(descriptor_that_is_none)
{
	struct outcome bad = {0}, good = {0};
	int closed = dup(fd);
	uint64_t id;

	close(closed);
	ck_assert(migrate_fetch_range(volume, closed, 0, 1, 0, done, &bad));
	id = migrate_fetch_range(volume, fd, 0, 1, 0, done, &good);
	finish(&bad);
	ck_assert_int_eq(bad.status, -EIO);
	fake_expect(MIGRATE_OP_RANGE, id);
	fake_reply(MIGRATE_OP_RANGE, id, 0);
	finish(&good);
	ck_assert_int_eq(good.status, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client_requests");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, frames);
	tcase_add_test(tcase, bracket);
	tcase_add_test(tcase, a_bracket_ends_without_memory);
	tcase_add_test(tcase, place);
	tcase_add_test(tcase, control);
	tcase_add_test(tcase, bad_arguments);
	tcase_add_test(tcase, cancel_of_a_request);
	tcase_add_test(tcase, a_budget);
	tcase_add_test(tcase, cancel_before_it_was_sent);
	tcase_add_test(tcase, cancel_of_a_begin_too_late);
	tcase_add_test(tcase, cancel_of_a_begin_in_time);
	tcase_add_test(tcase, cancel_of_an_end);
	tcase_add_test(tcase, descriptor_that_is_none);
	return run_case(tcase);
}
