/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* File systems on loop devices, in a mount namespace of the test's own. */
#include <sys/stat.h>

#include "common/fs_id.h"
#include "tests/common/mounts.h"

static uint64_t id_of(const char *name)
{
	int fd = open(scratch_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t id = migrate_fs_id(fd);

	ck_assert_int_ge(fd, 0);
	close(fd);
	return id;
}

/* The same on another device, and another one on the same. */
static void on_devices(const char *make)
{
	char command[200];
	uint64_t id;

	snprintf(command, sizeof(command),
		 "mkdir a b && truncate -s 400M 1 2 && %s 1 && %s 2 && mount -o loop 1 a", make,
		 make);
	run(command);
	id = id_of("a");
	ck_assert_uint_ne(id, 0);
	ck_assert(migrate_fs_id_is(id, id));
	run("mount -o loop 2 b");
	ck_assert(!migrate_fs_id_is(id, id_of("b")));
	run("umount a b && mount -o loop 2 b && mount -o loop 1 a");
	ck_assert_uint_eq(id_of("a"), id);
	run("umount a b && rm -r 1 2 a b");
	scratch_remove();
}

START_TEST(ext4)
{
	on_devices("mkfs.ext4 -q");
}
END_TEST

START_TEST(xfs)
{
	on_devices("mkfs.xfs -q");
}
END_TEST

START_TEST(btrfs)
{
	on_devices("mkfs.btrfs -q");
}
END_TEST

static uint64_t number_of(const char *name)
{
	int fd = open(scratch_path(name), O_PATH | O_CLOEXEC);
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	uint64_t number = migrate_fs_number(fd, st.st_dev);
	close(fd);
	return number;
}

/* Subvolumes have the same numbers in whatever order they are used, and on another device. */
START_TEST(subvolumes)
{
	uint64_t a, b;

	run("mkdir m && truncate -s 200M 1 && mkfs.btrfs -q 1 && mount -o loop 1 m && "
	    "btrfs subvolume create m/a && btrfs subvolume snapshot m/a m/b && sync");
	a = number_of("m/a");
	b = number_of("m/b");
	ck_assert_uint_ne(a, b);
	ck_assert_uint_ne(a, number_of("m"));
	run("umount m && mount -o loop 1 m");
	ck_assert_uint_eq(number_of("m/b"), b);
	ck_assert_uint_eq(number_of("m/a"), a);
	run("umount m && rm -r 1 m");
	scratch_remove();
}
END_TEST

/* A device's number is believed of what has no other id than its device, or has one now. */
START_TEST(earlier_releases)
{
	ck_assert(migrate_fs_id_is(0x801, UINT64_C(1) << 63 | 5));
	ck_assert(migrate_fs_id_is(0x801, 0));
	ck_assert(migrate_fs_id_is(0, 0));
	ck_assert(!migrate_fs_id_is(0x801, 0x1234567812345678));
	ck_assert(!migrate_fs_id_is(0x1234567812345678, UINT64_C(1) << 63 | 5));
	ck_assert(!migrate_fs_id_is(UINT64_C(1) << 63 | 6, UINT64_C(1) << 63 | 5));
	ck_assert_uint_eq(migrate_fs_id(-1), 0);
	scratch_remove();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fs_id");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup_mounts, NULL);
	tcase_add_test(tcase, ext4);
	tcase_add_test(tcase, xfs);
	tcase_add_test(tcase, btrfs);
	tcase_add_test(tcase, subvolumes);
	tcase_add_test(tcase, earlier_releases);
	return run_case(tcase);
}
