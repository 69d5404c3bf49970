/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/magic.h>
#include <sys/vfs.h>

#include "ctl/check/fs_limits.h"
#include "tests/suite.h"

START_TEST(kinds)
{
	struct limits ext4 = limits_of(EXT4_SUPER_MAGIC, 4096, false, 0);

	ck_assert_str_eq(ext4.name, "ext4");
	ck_assert_uint_eq(ext4.links, 65000);
	ck_assert_uint_eq(ext4.size, (UINT64_C(16) << 40) - 4096);
	ck_assert_uint_eq(ext4.symlink, 4095);
	ck_assert_uint_eq(ext4.attributes.together, 4064);
	ck_assert(ext4.fixed_inodes);
	ck_assert_uint_eq(limits_of(EXT4_SUPER_MAGIC, 4096, true, 0).attributes.together, 0);
	ck_assert_uint_eq(limits_of(0x58465342, 4096, false, 0).symlink, 1023);
	ck_assert_uint_eq(limits_of(BTRFS_SUPER_MAGIC, 4096, false, 0).links, 65535);
	ck_assert_uint_eq(limits_of(BTRFS_SUPER_MAGIC, 4096, false, 0).attributes.each, 16214);
}
END_TEST

START_TEST(times)
{
	struct times_room small = limits_of(EXT4_SUPER_MAGIC, 4096, false, 128).attributes.times;
	struct times_room ext4 = limits_of(EXT4_SUPER_MAGIC, 4096, false, 256).attributes.times;

	ck_assert(small.whole_seconds && !ext4.whole_seconds);
	ck_assert_int_eq(small.first, INT32_MIN);
	ck_assert_int_eq(small.last, INT32_MAX);
	ck_assert_int_eq(ext4.last, 15032385535);
	ck_assert_int_eq(limits_of(EXT4_SUPER_MAGIC, 4096, false, 0).attributes.times.last, 0);
}
END_TEST

/* Nothing is too much for what is not known. */
START_TEST(unknown)
{
	struct limits limits = limits_of(0, 4096, false, 0);

	ck_assert_ptr_null(limits.name);
	ck_assert_uint_eq(limits.links, UINT32_MAX);
	ck_assert_uint_eq(limits.size, INT64_MAX);
	ck_assert(!limits.fixed_inodes);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fs_limits");

	tcase_add_test(tcase, kinds);
	tcase_add_test(tcase, times);
	tcase_add_test(tcase, unknown);
	return run_tcase(tcase);
}
