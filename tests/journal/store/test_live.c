/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/live.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/journal/place.h"

START_TEST(nobody_was_there)
{
	struct journal_live live;

	ck_assert_int_eq(journal_live_get(place, &live), -ENOENT);
}
END_TEST

START_TEST(one_runs)
{
	struct journal_live live = {0};
	int pipes[2];
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		int fd = journal_live_hold(place, &live);

		live.full = 1;
		live.settled = 5;
		if (fd < 0 || journal_live_put(fd, &live) || write(pipes[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	ck_assert_int_eq(journal_live_get(place, &live), child);
	ck_assert_uint_eq(live.full, 1);
	ck_assert_int_eq(live.settled, 5);
	ck_assert_int_eq(journal_live_hold(place, &live), -EBUSY);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_eq(journal_live_get(place, &live), 0);
	/* The next one: full until it knows better, and nothing is settled in this life. */
	int fd = journal_live_hold(place, &live);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(live.full, 1);
	ck_assert_int_eq(live.settled, 0);
	close(fd);
}
END_TEST

/* All of the gap is what could not be looked at, until there is one more. */
START_TEST(a_gap_in_part)
{
	struct journal_live live = {.unread = 1, .part_of = 3, .later = INT64_MAX};

	ck_assert_int_eq(journal_live_gap(&live, 5, 3), INT64_MAX);
	ck_assert_int_eq(journal_live_gap(&live, 5, 4), 5);
	live.later = 7;
	ck_assert_int_eq(journal_live_gap(&live, 5, 3), 7);
	live.unread = 0;
	ck_assert_int_eq(journal_live_gap(&live, 5, 3), 5);
}
END_TEST

START_TEST(what_is_cut_short)
{
	g_autofree char *path = g_build_filename(place, JOURNAL_LIVE_FILE, NULL);
	struct journal_live live;

	ck_assert(g_file_set_contents(path, "x", 1, NULL));
	ck_assert_int_eq(journal_live_get(place, &live), -EINVAL);
}
END_TEST

START_TEST(clocks)
{
	ck_assert_int_gt(journal_boottime(), 0);
	ck_assert_int_gt(journal_realtime(), INT64_C(1600000000) * 1000000000);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("live");

	tcase_add_checked_fixture(tcase, place_make, place_remove);
	tcase_add_test(tcase, nobody_was_there);
	tcase_add_test(tcase, one_runs);
	tcase_add_test(tcase, a_gap_in_part);
	tcase_add_test(tcase, what_is_cut_short);
	tcase_add_test(tcase, clocks);
	return run_tcase(tcase);
}
