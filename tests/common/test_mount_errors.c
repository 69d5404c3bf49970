/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* File systems on loop devices, in a mount namespace of the test's own. */
#include "common/record.h"
#include "tests/common/mounts.h"

static int open_errors(const char *name)
{
	int fd = open(scratch_path(name), O_RDONLY), errors;

	ck_assert_int_ge(fd, 0);
	errors = migrate_mount_errors(fd);
	close(fd);
	return errors;
}

static bool none(int errors)
{
	char text[16];
	ssize_t len = pread(errors, text, sizeof(text), 0);

	ck_assert_int_gt(len, 0);
	return len == 2 && memcmp(text, "0\n", 2) == 0;
}

/* The kernel may take its time to count.  The number outlives a mount, and ends with a check. */
START_TEST(errors_of_ext4)
{
	int errors;

	run("mkdir a && truncate -s 32M image && mkfs.ext4 -q image && mount -o loop image a");
	errors = open_errors("a");
	ck_assert_int_ge(errors, 0);
	ck_assert(none(errors));
	run("echo test >/sys/fs/ext4/\"$(basename \"$(findmnt -no SOURCE a)\")\"/trigger_fs_error");
	while (none(errors))
		sched_yield();
	run("umount a"); /* errors does not keep it mounted */
	close(errors);
	run("mount -o loop image a");
	errors = open_errors("a");
	ck_assert(!none(errors));
	close(errors);
	run("umount a; e2fsck -fp image >&2; test $? -lt 4 && mount -o loop image a");
	errors = open_errors("a");
	ck_assert(none(errors));
	close(errors);
	run("umount a && rm image");
	scratch_remove();
}
END_TEST

START_TEST(others_have_none)
{
	run("mkdir a && mount -t tmpfs tmpfs a");
	ck_assert_int_eq(open_errors("a"), -1);
	run("umount a && truncate -s 320M image && mkfs.xfs -q image && mount -o loop image a");
	ck_assert_int_eq(open_errors("a"), -1);
	run("umount a && rm image");
	ck_assert_int_eq(migrate_mount_errors(-1), -1);
	scratch_remove();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mount_errors");

	tcase_add_checked_fixture(tcase, setup_mounts, NULL);
	tcase_add_test(tcase, errors_of_ext4);
	tcase_add_test(tcase, others_have_none);
	return run_case(tcase);
}
