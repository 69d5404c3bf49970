/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file system that counts errors of its own: nothing is written, and nothing becomes whole. */
#include "tests/retriever/core_hook.h"

#include "retriever/data/durability.h"
#include "retriever/objects/damage.h"

#define SIZE (64 * KIB)

static struct core core;
static int counter = -1; /* what the file system says: this overrides the library's */

int migrate_mount_errors(int fd)
{
	return fcntl(counter, F_DUPFD_CLOEXEC, 3);
}

static void count(const char *text)
{
	ck_assert_int_eq(syscall(SYS_pwrite64, counter, text, strlen(text), (off_t)0),
			 (long)strlen(text));
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_source_file(&core, "d/g", SIZE, 2);
	counter = open(core.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(counter, 0);
	count("0\n");
	core_start(&core);
	return core_find(&core, "f", O_RDWR);
}

static void expect_whole(int fd)
{
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	core_sync_normal(&core, fd);
}

static void round_over(void *arg, int status)
{
	sem_post(arg);
	ck_assert_int_eq(status, 0);
}

/* One that began before may still fail what is fetched now. */
static void wait_round(void)
{
	sem_t over;

	sem_init(&over, 0, 0);
	durability_after_round(core.retriever, round_over, &over);
	sem_wait(&over);
}

static void finish(int fd)
{
	core_free_with(&core, fd);
}

/* A sync that succeeds says nothing then: its blocks may be another file's, too. */
START_TEST(i3_nothing_leaves_the_record)
{
	int fd = start();

	core_hold("fdatasync syncfs");
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	if (_i) /* a client's bytes too */
		ck_assert_int_eq(core_write(&core, fd, 20000, 5000, 9, false), 0);
	core_wait_held(1);
	count("1\n");
	core_release();
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	ck_assert_uint_eq(core_missing(fd), SIZE);
	count("0\n");
	wait_round();
	core_sync(&core, fd); /* may tell another client, or not */
	expect_whole(fd);
	finish(fd);
}
END_TEST

START_TEST(i4_nothing_is_written)
{
	struct stat st;
	int fd = start();

	count("12\n");
	ck_assert_int_eq(core_range(&core, fd, 0, 4096), -EIO);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	core_expect_answer(&core, "errors", error_kind(QM_DAMAGED)->sentence);
	count("0\n");
	expect_whole(fd);
	finish(fd);
}
END_TEST

/* It was asked for before. */
START_TEST(i4_no_reply_is_written)
{
	struct fault_rule rule = {.ops = 1 << BACKEND_READ, .action = FAULT_STALL};
	struct migrate_waiter *waiter;
	struct stat st;
	int fd = start();
	unsigned stall = backend_fault_add(core.fault, &rule);

	waiter = core_ask_range(&core, fd, 0, 4096, 0);
	ck_assert(backend_fault_wait(core.fault, stall, 1));
	count("1\n");
	backend_fault_release(core.fault, stall);
	ck_assert_int_eq(core_wait(waiter), -EIO);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	finish(fd);
}
END_TEST

START_TEST(i4_no_change_begins)
{
	static const enum migrate_change changes[] = {MIGRATE_WRITE, MIGRATE_TRUNCATE,
						      MIGRATE_PUNCH};
	uint64_t begun;
	int fd = start();

	count("1\n");
	ck_assert_int_eq(core_begin(&core, fd, -1, changes[_i], 0, 100, &begun), -EIO);
	count("0\n");
	ck_assert_int_eq(core_write(&core, fd, 0, 100, 9, true), 0);
	finish(fd);
}
END_TEST

START_TEST(i6_no_name_is_made)
{
	int fd = start(), dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	struct stat st;

	count("1\n");
	ck_assert_int_eq(core_name_in(&core, dir, "g"), -EIO);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, 0)), -EIO);
	ck_assert_int_eq(fstatat(dir, "g", &st, 0), -1);
	ck_assert_int_eq(core_state(dir), MIGRATE_UNFILLED);
	core_expect_answer(&core, "errors", error_kind(QM_DAMAGED)->sentence);
	count("0\n");
	ck_assert_int_eq(core_name_in(&core, dir, "g"), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, 0)), 0);
	close(dir);
	finish(fd);
}
END_TEST

/* What was whole before is. */
START_TEST(i11_a_normal_file_notices_nothing)
{
	uint64_t begun;
	int fd = start();

	expect_whole(fd);
	count("1\n");
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 100, &begun), 0);
	ck_assert_int_eq(core_end(&core, begun, true, true, 0, 100), 0);
	finish(fd);
}
END_TEST

int main(void)
{
	TCase *tests = core_tcase("damage", 60);

	tcase_add_loop_test(tests, i3_nothing_leaves_the_record, 0, 2);
	tcase_add_test(tests, i4_nothing_is_written);
	tcase_add_test(tests, i4_no_reply_is_written);
	tcase_add_loop_test(tests, i4_no_change_begins, 0, 3);
	tcase_add_test(tests, i6_no_name_is_made);
	tcase_add_test(tests, i11_a_normal_file_notices_nothing);
	return run_tcase(tests);
}
