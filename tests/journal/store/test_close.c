/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/close.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "journal/store/live.h"
#include "tests/journal/place.h"
#include "tests/durable.h"

START_TEST(none)
{
	GError *error = NULL;

	ck_assert(!journal_close_for_good("/nowhere/at/all", &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOENT));
	g_clear_error(&error);
	ck_assert(!journal_close_for_good(place, &error));
	ck_assert(g_error_matches(error, JOURNAL_ERROR, ENOENT));
	g_clear_error(&error);
	ck_assert(!journal_is_closed(place));
}
END_TEST

/* Its process is ended, and what it knew is gone. */
START_TEST(closed)
{
	struct journal_store *store = store_at_place();
	struct journal_live live;
	GError *error = NULL;
	int pipes[2], status;
	char byte;
	pid_t child;

	commit(store);
	journal_store_close(store);
	ck_assert_int_eq(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		signal(SIGTERM, SIG_DFL); /* libcheck's ends the group */
		if (journal_live_hold(place, &live) < 0 || write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	/* Whoever does not wait for children sees them gone at once. */
	ck_assert_msg(journal_close_for_good(place, &error), "%s", error ? error->message : "");
	ck_assert_durable(place);
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	ck_assert(journal_is_closed(place));
	ck_assert_ptr_null(journal_open(place, NULL));
	ck_assert_msg(journal_close_for_good(place, &error), "twice");
	ck_assert(journal_reopen(place, &error));
	ck_assert(!journal_is_closed(place));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("close");

	tcase_add_checked_fixture(tcase, place_make, place_remove);
	tcase_add_test(tcase, none);
	tcase_add_test(tcase, closed);
	return run_tcase(tcase);
}
