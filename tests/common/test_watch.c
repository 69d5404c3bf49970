/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An ext4 on a loop device, in a mount namespace of the test's own. */
#include <errno.h>

#include "common/record.h"
#include "tests/common/mounts.h"

static int dir, errors;

static void open_it(void)
{
	dir = open(scratch_path("a"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(dir, 0);
	errors = migrate_mount_errors(dir);
	ck_assert_int_ge(errors, 0);
}

static void close_it(void)
{
	close(dir);
	close(errors);
}

static void setup(void)
{
	setup_mounts();
	run("mkdir a && truncate -s 32M image && mkfs.ext4 -q image && mount -o loop image a && "
	    "touch a/file && sync a/file");
	open_it();
}

static void teardown(void)
{
	close_it();
	run("umount a");
	scratch_remove();
}

/* The kernel may take its time to count. */
static void find_an_error(const char *command)
{
	run(command);
	while (!migrate_errors_counted(errors))
		sched_yield();
}

#define ERROR "echo test >/sys/fs/ext4/\"$(basename \"$(findmnt -no SOURCE a)\")\"/trigger_fs_error"

static int load(const char *name)
{
	int fd = open(scratch_path(name), O_PATH), ret;
	struct migrate_stub stub;

	ck_assert_int_ge(fd, 0);
	ret = migrate_stub_load(fd, &stub);
	migrate_stub_clear(&stub);
	close(fd);
	return ret;
}

START_TEST(i4_no_record_proves_nothing_after_an_error)
{
	ck_assert_int_eq(migrate_watch(dir), 0);
	ck_assert_int_eq(load("a/file"), 0);
	find_an_error(ERROR);
	ck_assert_int_eq(load("a/file"), -EIO);
	ck_assert_int_eq(load("image"), 0); /* of another file system */
	ck_assert_int_eq(migrate_inspect(dir, &(struct migrate_inspection){0}), -EIO);
	/* It goes on (errors=continue): what is seen from now on is so. */
	ck_assert_int_eq(migrate_watch(dir), 0);
	ck_assert_int_eq(load("a/file"), 0);
}
END_TEST

START_TEST(i4_no_record_proves_nothing_where_it_has_given_up)
{
	find_an_error("mount -o remount,abort a");
	ck_assert_int_eq(load("a/file"), 0); /* nobody watches */
	ck_assert_int_eq(migrate_watch(dir), 0);
	ck_assert(migrate_damaged(dir));
	ck_assert_int_eq(load("a/file"), -EIO);
}
END_TEST

START_TEST(a_mount_of_later)
{
	ck_assert_int_eq(migrate_watch(dir), 0);
	find_an_error("mount -o remount,abort a");
	ck_assert_int_eq(load("a/file"), -EIO);
	close_it();
	run("umount a && mount -o loop image a");
	open_it();
	ck_assert(migrate_errors_counted(errors));
	ck_assert_int_eq(migrate_watch(dir), 0);
	ck_assert(!migrate_damaged(dir));
	ck_assert_int_eq(load("a/file"), 0);
}
END_TEST

START_TEST(where_there_is_nothing_to_see)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(migrate_watch(fd), 0);
	ck_assert(!migrate_damaged(fd));
	close(fd);
	ck_assert_int_eq(migrate_watch(-1), 0);
	ck_assert(!migrate_errors_counted(-1));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("watch");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, i4_no_record_proves_nothing_after_an_error);
	tcase_add_test(tcase, i4_no_record_proves_nothing_where_it_has_given_up);
	tcase_add_test(tcase, a_mount_of_later);
	tcase_add_test(tcase, where_there_is_nothing_to_see);
	return run_case(tcase);
}
