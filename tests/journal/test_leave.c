/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/leave.h"

#include <fcntl.h>
#include <time.h>

#include "tests/durable.h"
#include "tests/journal/place.h"

/* An hour a second: the thread's sync is waited for with the real one. */
static int64_t skipped;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int ret = __real_clock_gettime(clock, ts);

	ts->tv_sec += skipped;
	return ret;
}

START_TEST(rows_go_after_a_sync)
{
	struct journal_store *store;
	struct leave *leave;
	const struct migrate_binding object = handle(7), later = handle(8);
	const struct journal_place name = at(1, "n");

	place_make();
	store = store_at_place();
	leave = leave_new(STDIN_FILENO);
	journal_store_made(store, &object, true, &name);
	journal_store_removed(store, &object, true, &name);
	leave_step(leave, store);
	commit(store);
	leave_step(leave, store); /* not that often */
	ck_assert_uint_eq(journal_store_leaving(store), 1);
	leave_free(leave);
	const int dir = open(place, O_RDONLY | O_DIRECTORY);
	const int fd = openat(dir, "changed", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
	ck_assert(!is_durable_in(dir, "changed"));
	leave = leave_new(dir);
	skipped += 3600;
	leave_step(leave, store);
	/* What came after the sync began waits for the next one. */
	journal_store_made(store, &later, true, &name);
	journal_store_removed(store, &later, true, &name);
	commit(store);
	while (journal_store_leaving(store) > 1) {
		g_usleep(10000);
		leave_step(leave, store);
		commit(store);
	}
	ck_assert_uint_eq(journal_store_leaving(store), 1);
	ck_assert(!journal_store_find(store, &object, NULL));
	ck_assert_durable_in(dir, "changed");
	ck_assert_int_eq(unlinkat(dir, "changed", 0), 0);
	ck_assert(journal_store_find(store, &later, NULL));
	leave_free(leave);
	journal_store_close(store);
	place_remove();
	skipped = 0;
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("leave");

	tcase_add_test(tcase, rows_go_after_a_sync);
	return run_tcase(tcase);
}
