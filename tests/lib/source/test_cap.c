/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/source/cap.h"
#include "tests/suite.h"

static char *dir, *path;

/* The library's clock, which passes as the tests say. */
static gint64 now = G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC;

gint64 g_get_monotonic_time(void)
{
	return now;
}

static void setup(void)
{
	dir = g_dir_make_tmp("cap-XXXXXX", NULL);
	ck_assert_ptr_nonnull(dir);
	path = g_build_filename(dir, "server-old.cap", NULL);
}

static void teardown(void)
{
	g_unlink(path);
	g_rmdir(dir);
	g_free(path);
	g_free(dir);
}

static struct cap *opened(uint64_t bandwidth, unsigned requests)
{
	g_autoptr(GError) error = NULL;
	struct cap *cap = cap_open(path, &error);

	ck_assert_msg(cap != NULL, "%s", error ? error->message : "");
	cap_limit(cap, bandwidth, requests);
	return cap;
}

START_TEST(limits)
{
	struct cap *cap = opened(0, 0);

	for (int i = 0; i < 1000; i++)
		ck_assert(cap_take(cap, 1 << 20));
	cap_limit(cap, 0, 1);
	ck_assert_uint_eq(cap_requests(cap), 1);
	ck_assert(cap_take(cap, 1 << 20));
	ck_assert(!cap_take(cap, 0));
	cap_limit(cap, 1000, 0);
	ck_assert_uint_eq(cap_bandwidth(cap), 1000);
	ck_assert(cap_take(cap, 1 << 20)); /* a request larger than that passes, and is paid for */
	ck_assert(!cap_take(cap, 1));
	ck_assert(cap_take(cap, 0)); /* brings no bytes */
	cap_close(cap);
}
END_TEST

START_TEST(what_one_took_the_other_cannot)
{
	struct cap *a = opened(0, 1), *b = opened(0, 1);

	ck_assert(cap_take(a, 0));
	ck_assert(!cap_take(b, 0));
	ck_assert_uint_eq(cap_waiting(a), 1);
	cap_close(b); /* waits no more */
	ck_assert_uint_eq(cap_waiting(a), 0);
	cap_close(a);
}
END_TEST

/* However much oftener one asks than the other. */
START_TEST(shares)
{
	struct cap *a = opened(0, 100), *b = opened(0, 100);
	unsigned taken_a = 0, taken_b = 0;

	while (taken_a + taken_b < 100) {
		for (int i = 0; i < 10; i++)
			taken_a += cap_take(a, 0);
		taken_b += cap_take(b, 0);
		now += 100;
	}
	ck_assert_msg(taken_a >= 30 && taken_b >= 30, "%u and %u", taken_a, taken_b);
	cap_close(a);
	cap_close(b);
}
END_TEST

/* Who is alone has all of it, whoever waited before. */
START_TEST(nobody_keeps_what_he_does_not_use)
{
	struct cap *a = opened(0, 100), *b = opened(0, 100);
	unsigned taken = 0;

	cap_take(a, 0);
	while (cap_take(a, 0))
		;
	while (cap_take(b, 0))
		;
	ck_assert_uint_eq(cap_waiting(a), 2);
	for (; taken < 50; now += 1000) /* b does not ask any more */
		taken += cap_take(a, 0);
	ck_assert_uint_le(cap_waiting(a), 1);
	cap_close(a);
	cap_close(b);
}
END_TEST

START_TEST(a_killed_process)
{
	struct cap *cap;
	int ready[2];
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		cap = opened(0, 1);
		cap_take(cap, 0);
		for (bool told = false;; told = true) {
			cap_take(cap, 0);
			if (!told && write(ready[1], "", 1) != 1)
				_exit(1);
		}
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	cap = opened(0, 1);
	ck_assert_uint_eq(cap_waiting(cap), 1);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	while (cap_waiting(cap)) /* nobody says so but the time */
		now += 1000;
	while (!cap_take(cap, 0))
		now += 1000;
	cap_close(cap);
}
END_TEST

static void put(const void *bytes, size_t len, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, bytes, len, at), len);
	close(fd);
}

START_TEST(damaged_files)
{
	const uint8_t ones[32] = {[0 ... 31] = 0x7f};
	struct cap *cap;

	put("short", 5, 0);
	cap = opened(0, 1);
	ck_assert(cap_take(cap, 0));
	ck_assert(!cap_take(cap, 0));
	put(ones, sizeof(ones),
	    8); /* as if all were taken for centuries, and somebody waited as long */
	ck_assert_uint_eq(cap_waiting(cap), 0);
	cap_limit(cap, 1000, 1);
	ck_assert(cap_take(cap, 1));
	cap_close(cap);
	put("BAD", 3, 0);
	cap = opened(0, 1);
	ck_assert(cap_take(cap, 0));
	cap_close(cap);
}
END_TEST

static void refused(void)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(cap_open(path, &error));
	ck_assert_ptr_nonnull(strstr(error->message, path));
	ck_assert_ptr_nonnull(strstr(error->message, "remove it"));
}

START_TEST(files_of_others)
{
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	refused();
	g_unlink(path);
	put("", 1, 0);
	ck_assert_int_eq(chmod(path, 0666), 0);
	refused();
	g_unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("cap");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, limits);
	tcase_add_test(tcase, what_one_took_the_other_cannot);
	tcase_add_test(tcase, shares);
	tcase_add_test(tcase, nobody_keeps_what_he_does_not_use);
	tcase_add_test(tcase, a_killed_process);
	tcase_add_test(tcase, damaged_files);
	tcase_add_test(tcase, files_of_others);
	return run_tcase(tcase);
}
