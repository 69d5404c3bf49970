/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "migrate.h"
#include "support.h"

/* The write end of a pipe whose read end tells when it was closed. */
static int make_pipe(int *read_end)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	*read_end = ends[0];
	return ends[1];
}

static bool is_closed(int read_end)
{
	char byte;

	return read(read_end, &byte, 1) == 0;
}

static struct timespec in_ms(long ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += ms % 1000 * 1000000;
	ts.tv_sec += ms / 1000 + ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static bool is_past(const struct timespec *ts)
{
	struct timespec now = in_ms(0);

	return now.tv_sec > ts->tv_sec || (now.tv_sec == ts->tv_sec && now.tv_nsec >= ts->tv_nsec);
}

START_TEST(done_before_the_wait)
{
	struct migrate_waiter *waiter = migrate_waiter_new();
	struct timespec past = in_ms(0);
	int end, fd = make_pipe(&end);

	migrate_waiter_done(waiter, -ENOENT);
	/* Even when it is too late already. */
	ck_assert_int_eq(migrate_waiter_wait(waiter, &past, fd), -ENOENT);
	ck_assert(is_closed(end));
	close(end);
}
END_TEST

static void *finish(void *waiter)
{
	migrate_waiter_done(waiter, -ESTALE);
	return NULL;
}

START_TEST(done_by_another_thread)
{
	for (int i = 0; i < 500; i++) {
		struct migrate_waiter *waiter = migrate_waiter_new();
		struct timespec deadline = in_ms(30000);
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, finish, waiter), 0);
		ck_assert_int_eq(migrate_waiter_wait(waiter, i % 2 ? &deadline : NULL, -1),
				 -ESTALE);
		pthread_join(thread, NULL);
	}
}
END_TEST

START_TEST(deadline_then_late_reply)
{
	struct migrate_waiter *waiter = migrate_waiter_new();
	struct timespec deadline = in_ms(20);
	int end, fd = make_pipe(&end);

	ck_assert_int_eq(migrate_waiter_wait(waiter, &deadline, fd), -EAGAIN);
	ck_assert(is_past(&deadline));
	ck_assert(!is_closed(end)); /* the request needs it still */
	migrate_waiter_done(waiter, 0);
	ck_assert(is_closed(end));
	close(end);
}
END_TEST

/* Reply and deadline at the same moment: one side or the other frees and closes, once. */
START_TEST(race)
{
	for (int i = 0; i < 500; i++) {
		struct migrate_waiter *waiter = migrate_waiter_new();
		struct timespec now = in_ms(0);
		int end, status, fd = make_pipe(&end);
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, finish, waiter), 0);
		status = migrate_waiter_wait(waiter, &now, fd);
		ck_assert(status == -EAGAIN || status == -ESTALE);
		pthread_join(thread, NULL);
		ck_assert(is_closed(end));
		close(end);
	}
}
END_TEST

START_TEST(not_started)
{
	migrate_waiter_abandon(migrate_waiter_new());
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("waiter");

	tcase_add_test(tcase, done_before_the_wait);
	tcase_add_test(tcase, done_by_another_thread);
	tcase_add_test(tcase, deadline_then_late_reply);
	tcase_add_test(tcase, race);
	tcase_add_test(tcase, not_started);
	return run_case(tcase);
}
