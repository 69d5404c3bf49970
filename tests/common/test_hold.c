/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "common/migrate.h"
#include "tests/common/support.h"

static int dir;

static void setup(void)
{
	scratch_make();
	ck_assert_int_eq(mkdir(scratch_path("dir"), 0700), 0);
	dir = open(scratch_path("dir"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static void teardown(void)
{
	close(dir);
	scratch_remove();
}

static int hold(enum migrate_lock_directory how)
{
	int fd = migrate_lock_directory(dir, how, NULL);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(is_shared)
{
	int a = hold(MIGRATE_HOLD_SHARED), b = hold(MIGRATE_HOLD_SHARED);

	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_ALONE, NULL), -EAGAIN);
	close(a);
	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_ALONE, NULL), -EAGAIN);
	close(b);
	close(hold(MIGRATE_HOLD_ALONE));
}
END_TEST

START_TEST(is_alone)
{
	int a = hold(MIGRATE_HOLD_ALONE);

	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_ALONE, NULL), -EAGAIN);
	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_SHARED, NULL), -EAGAIN);
	close(a);
	close(hold(MIGRATE_HOLD_SHARED));
}
END_TEST

/* Who holds a directory ends neither with the descriptor that named it, nor with its copies. */
START_TEST(is_the_holds_own)
{
	int copy = dup(dir), a = hold(MIGRATE_HOLD_ALONE);

	close(copy);
	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_SHARED, NULL), -EAGAIN);
	close(a);
}
END_TEST

START_TEST(waits_until_the_deadline)
{
	int a = hold(MIGRATE_HOLD_ALONE);
	struct timespec deadline, after;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_nsec += 20000000;
	if (deadline.tv_nsec >= 1000000000)
		deadline.tv_sec++, deadline.tv_nsec -= 1000000000;
	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_SHARED, &deadline), -EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert(after.tv_sec > deadline.tv_sec ||
		  (after.tv_sec == deadline.tv_sec && after.tv_nsec >= deadline.tv_nsec));
	close(a);
}
END_TEST

/* The kernel ends it, however its process ends. */
START_TEST(dies_with_its_process)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (migrate_lock_directory(dir, MIGRATE_HOLD_ALONE, NULL) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(migrate_lock_directory(dir, MIGRATE_HOLD_SHARED, NULL), -EAGAIN);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(hold(MIGRATE_HOLD_SHARED));
	close(ready[0]);
	close(ready[1]);
}
END_TEST

START_TEST(needs_a_directory)
{
	int file = scratch_file("file", 1);

	ck_assert_int_eq(migrate_lock_directory(file, MIGRATE_HOLD_SHARED, NULL), -ENOTDIR);
	ck_assert_int_eq(migrate_lock_directory(-1, MIGRATE_HOLD_SHARED, NULL), -EBADF);
	close(file);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("hold");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, is_shared);
	tcase_add_test(tcase, is_alone);
	tcase_add_test(tcase, is_the_holds_own);
	tcase_add_test(tcase, waits_until_the_deadline);
	tcase_add_test(tcase, dies_with_its_process);
	tcase_add_test(tcase, needs_a_directory);
	return run_case(tcase);
}
