/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* File systems on loop devices, in a mount namespace of the test's own. */
#include "common/superblock.h"
#include "tests/common/mounts.h"

START_TEST(directories)
{
	char path[SUPERBLOCK_PATH_LEN];
	int fd;

	run("mkdir a && truncate -s 32M image && mkfs.ext4 -q image && mount -o loop image a");
	fd = open(scratch_path("a"), O_PATH);
	ck_assert(migrate_superblock_directory(fd, path));
	ck_assert_int_eq(strncmp(path, "/sys/fs/ext4/loop", 17), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	close(fd);
	run("umount a && rm image");
	ck_assert(!migrate_superblock_directory(-1, path));
	scratch_remove();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("superblock");

	tcase_add_checked_fixture(tcase, setup_mounts, NULL);
	tcase_add_test(tcase, directories);
	return run_case(tcase);
}
