/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of file systems on loop devices, in a mount namespace of the test's own, and of tmpfs. */
#include <errno.h>

#include "common/record.h"
#include "tests/common/mounts.h"

static const struct {
	const char *type;
	bool ordered, disk;
} v[] = {{"ext4", true, true},
	 {"xfs", true, true},
	 {"btrfs", false, true},
	 {"tmpfs", true, false},
	 {"ramfs", false, false}};

START_TEST(of_a_file_system)
{
	uint64_t count = 7;
	int fd;

	setenv("type", v[_i].type, 1);
	run(v[_i].disk ? "mkdir a && truncate -s 320M image && mkfs.$type -q image && "
			 "mount -o loop image a"
		       : "mkdir a && mount -t $type $type a");
	fd = open(scratch_path("a"), O_RDONLY);
	ck_assert_int_eq(migrate_keeps_order(fd), v[_i].ordered);
	ck_assert(migrate_tells_data(fd));
	ck_assert_int_eq(migrate_log_count(fd, &count), 0);
	ck_assert_uint_eq(count, 7);
	close(fd);
	run("umount a && rm -f image");
	scratch_remove();
}
END_TEST

START_TEST(of_no_descriptor)
{
	uint64_t count;

	ck_assert(!migrate_keeps_order(-1));
	ck_assert(!migrate_tells_data(-1));
	ck_assert_int_eq(migrate_log_count(-1, &count), -EBADF);
	scratch_remove();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("power_cut");

	tcase_add_checked_fixture(tcase, setup_mounts, NULL);
	tcase_add_loop_test(tcase, of_a_file_system, 0, sizeof(v) / sizeof(*v));
	tcase_add_test(tcase, of_no_descriptor);
	return run_case(tcase);
}
