/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/sorter.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/suite.h"

static struct retriever retriever;
static struct sorter *sorter;
static uint64_t free_bytes = 1ULL << 40;

int fstatvfs(int fd, struct statvfs *st)
{
	*st = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096, .f_bavail = free_bytes / 4096};
	return 0;
}

static void setup(void)
{
	atomic_store(&retriever.staging_fd, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	ck_assert_int_ge(retriever.staging_fd, 0);
	sorter = sorter_new(&retriever);
}

static void teardown(void)
{
	sorter_free(sorter);
	ck_assert_int_eq(g_atomic_int_get(&retriever.sorter_entries), 0);
	close(retriever.staging_fd);
}

static bool add(uint64_t key, unsigned n)
{
	char text[200];

	snprintf(text, sizeof(text), "%*u", n % 100 + 1, n);
	return sorter_add(sorter, key, text, strlen(text) + 1);
}

static unsigned take(void)
{
	const void *bytes = NULL;
	int len = sorter_take(sorter, &bytes);

	ck_assert_int_gt(len, 0);
	ck_assert_uint_eq(strlen(bytes) + 1, (unsigned)len);
	return (unsigned)atoi(bytes);
}

static void expect_end(void)
{
	const void *bytes;

	ck_assert_uint_eq(sorter_count(sorter), 0);
	ck_assert_int_eq(sorter_take(sorter, &bytes), 0);
	ck_assert_int_eq(sorter_take(sorter, &bytes), 0);
}

/* Few, in memory, and many, in a file; twice. */
START_TEST(out_in_order)
{
	const unsigned n = _i ? 100003 : 50;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < n; i++)
			ck_assert(add((uint64_t)i * 7919 % n << 40, i));
		ck_assert_uint_eq(sorter_count(sorter), n);
		for (unsigned i = 0; i < n; i++)
			ck_assert_uint_eq((uint64_t)take() * 7919 % n, i);
		expect_end();
	}
}
END_TEST

START_TEST(equal_keys_stay_as_they_came)
{
	for (unsigned i = 0; i < 5000; i++)
		ck_assert(add(i % 2, i));
	for (unsigned i = 0; i < 5000; i += 2)
		ck_assert_uint_eq(take(), i);
	for (unsigned i = 1; i < 5000; i += 2)
		ck_assert_uint_eq(take(), i);
	expect_end();
}
END_TEST

/* All of a volume share the memory, and each may have something. */
START_TEST(memory_is_bounded)
{
	struct sorter *other = sorter_new(&retriever);
	unsigned n = 0;

	while (sorter_add(sorter, n, "x", 1))
		n++;
	ck_assert_uint_eq(n, SORTER_MAX);
	ck_assert(sorter_full(sorter));
	ck_assert(!sorter_full(other));
	ck_assert(sorter_add(other, 1, "y", 1));
	ck_assert(sorter_full(other));
	ck_assert(!sorter_add(other, 2, "z", 1));
	sorter_forget(sorter);
	ck_assert(!sorter_full(other));
	ck_assert(sorter_add(sorter, 3, "x", 1));
	sorter_free(other);
}
END_TEST

/* What is in stays in. */
START_TEST(no_room_on_disk)
{
	struct rlimit limit;
	unsigned n = 0;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, limit.rlim_max}), 0);
	while (add(1000000 - n, n))
		n++;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0); /* check writes files */
	ck_assert_uint_gt(n, 1000);
	ck_assert_uint_eq(sorter_count(sorter), n);
	for (unsigned i = n; i-- > 0;)
		ck_assert_uint_eq(take(), i);
	expect_end();
	ck_assert(add(1, 1));
}
END_TEST

/* However long a listing is. */
START_TEST(most_of_the_space_is_left)
{
	unsigned n = 0;

	free_bytes = 32 << 20;
	while (add(1000000 - n, n))
		n++;
	ck_assert_uint_gt(n, 20000); /* a sixteenth, of 51 bytes each on average */
	ck_assert_uint_lt(n, 50000);
	for (unsigned i = n; i-- > 0;)
		ck_assert_uint_eq(take(), i);
	expect_end();
}
END_TEST

START_TEST(forgotten)
{
	for (unsigned i = 0; i < 5000; i++)
		add(i, i);
	take();
	sorter_forget(sorter);
	expect_end();
	ck_assert(add(1, 1));
	ck_assert_uint_eq(take(), 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, out_in_order, 0, 2);
	tcase_add_test(tcase, equal_keys_stay_as_they_came);
	tcase_add_test(tcase, memory_is_bounded);
	tcase_add_test(tcase, no_room_on_disk);
	tcase_add_test(tcase, most_of_the_space_is_left);
	tcase_add_test(tcase, forgotten);
	return run_tcase(tcase);
}
