/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/record.h"
#include "tests/common/support.h"

static int64_t made_in, paused; /* ns: until the inode is made, and that were waited for it */

int open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
	errno = ENOMEM;
	return paused < made_in ? -1 : (int)syscall(SYS_open_by_handle_at, mount_fd, handle, flags);
}

int nanosleep(const struct timespec *pause, struct timespec *left)
{
	paused += pause->tv_sec * INT64_C(1000000000) + pause->tv_nsec;
	return 0;
}

START_TEST(same_inode_same_binding)
{
	struct migrate_binding a, b, c, d;
	int fd = scratch_file("a", 0), dir = open(scratch, O_RDONLY | O_DIRECTORY), path;

	ck_assert_int_eq(migrate_binding_get(fd, NULL, &a), 0);
	ck_assert_uint_ge(a.len, 1);
	ck_assert_int_eq(migrate_binding_get(dir, "a", &b), 0);
	ck_assert(migrate_binding_equal(&a, &b));
	path = openat(dir, "a", O_PATH);
	ck_assert_int_eq(migrate_binding_get(path, "", &c), 0);
	ck_assert(migrate_binding_equal(&a, &c));
	ck_assert_int_eq(renameat(dir, "a", dir, "b"), 0);
	ck_assert_int_eq(migrate_binding_get(dir, "b", &d), 0);
	ck_assert(migrate_binding_equal(&a, &d));
	close(path);
	close(fd);
	close(dir);
}
END_TEST

START_TEST(names_are_not_followed)
{
	struct migrate_binding link, target;
	int fd = scratch_file("target", 0), dir = open(scratch, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(symlinkat("target", dir, "link"), 0);
	ck_assert_int_eq(migrate_binding_get(dir, "link", &link), 0);
	ck_assert_int_eq(migrate_binding_get(fd, NULL, &target), 0);
	ck_assert(!migrate_binding_equal(&link, &target));
	close(fd);
	close(dir);
}
END_TEST

START_TEST(other_inodes_differ)
{
	struct migrate_binding a, b;
	int first = scratch_file("a", 0), second = scratch_file("b", 0);

	ck_assert_int_eq(migrate_binding_get(first, NULL, &a), 0);
	ck_assert_int_eq(migrate_binding_get(second, NULL, &b), 0);
	ck_assert(!migrate_binding_equal(&a, &b));
	b = a;
	b.type ^= 1;
	ck_assert(!migrate_binding_equal(&a, &b));
	b = a;
	b.len--;
	ck_assert(!migrate_binding_equal(&a, &b));
	close(first);
	close(second);
}
END_TEST

START_TEST(opened)
{
	struct migrate_binding binding;
	int fd = scratch_file("a", 7), dir = open(scratch, O_RDONLY | O_DIRECTORY), again;
	struct stat st;

	ck_assert_int_eq(migrate_binding_get(fd, NULL, &binding), 0);
	again = migrate_binding_open(dir, &binding, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(again, 0);
	ck_assert_int_eq(fstat(again, &st), 0);
	ck_assert_int_eq(st.st_size, 7);
	close(again);
	close(fd);
	ck_assert_int_eq(unlinkat(dir, "a", 0), 0);
	ck_assert_int_eq(migrate_binding_open(dir, &binding, O_RDONLY | O_CLOEXEC), -ESTALE);
	ck_assert_int_eq(migrate_open_handle(dir, 1, &binding, 1000, O_RDONLY), -ESTALE);
	ck_assert_int_eq(migrate_binding_open(-1, &binding, O_RDONLY), -EBADF);
	close(dir);
}
END_TEST

/* For as long as its maker may wait for a processor; and where there is no memory it ends. */
START_TEST(being_made)
{
	struct migrate_binding binding;
	int fd = scratch_file("a", 7), dir = open(scratch, O_RDONLY | O_DIRECTORY), again;

	ck_assert_int_eq(migrate_binding_get(fd, NULL, &binding), 0);
	made_in = INT64_C(3000000000);
	again = migrate_binding_open(dir, &binding, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(again, 0);
	close(again);
	paused = 0;
	made_in = INT64_C(20000000000);
	ck_assert_int_eq(migrate_binding_open(dir, &binding, O_RDONLY | O_CLOEXEC), -ENOMEM);
	made_in = 0;
	close(fd);
	close(dir);
}
END_TEST

/* The layout of the kernel's btrfs handles: a file, the same in a snapshot of its subvolume, and
 * its neighbour there. */
START_TEST(snapshots_of_btrfs)
{
	struct migrate_binding file = {.type = 0x4d, .len = 20}, same, other, elsewhere;

	file.bytes[0] = 1; /* the inode, 257 */
	file.bytes[1] = 1;
	file.bytes[8] = 5;  /* the subvolume */
	file.bytes[16] = 9; /* the generation */
	same = other = elsewhere = file;
	ck_assert(!migrate_binding_snapshot(&file, &same));
	same.bytes[9] = 1; /* subvolume 261 */
	ck_assert(migrate_binding_snapshot(&file, &same));
	other = same;
	other.bytes[0] = 2;
	ck_assert(!migrate_binding_snapshot(&file, &other));
	other = same;
	other.bytes[16] = 8;
	ck_assert(!migrate_binding_snapshot(&file, &other));
	elsewhere = same;
	elsewhere.type = file.type = 1; /* of another kind of file system */
	ck_assert(!migrate_binding_snapshot(&file, &elsewhere));
}
END_TEST

START_TEST(errors)
{
	struct migrate_binding out;
	int dir = open(scratch, O_RDONLY | O_DIRECTORY);

	ck_assert_int_eq(migrate_binding_get(dir, "none", &out), -ENOENT);
	close(dir);
	ck_assert_int_eq(migrate_binding_get(dir, NULL, &out), -EBADF);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("binding");

	tcase_add_checked_fixture(tcase, scratch_make, scratch_remove);
	tcase_add_test(tcase, same_inode_same_binding);
	tcase_add_test(tcase, names_are_not_followed);
	tcase_add_test(tcase, other_inodes_differ);
	tcase_add_test(tcase, opened);
	tcase_add_test(tcase, being_made);
	tcase_add_test(tcase, snapshots_of_btrfs);
	tcase_add_test(tcase, errors);
	return run_case(tcase);
}
