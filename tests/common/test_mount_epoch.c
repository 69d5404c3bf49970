/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* File systems on loop devices, in a mount namespace of the test's own. */
#include <sys/wait.h>

#include "common/record.h"
#include "tests/common/mounts.h"

#define LEN MIGRATE_EPOCH_LEN

static const char *const types[] = {"ext4", "xfs", "btrfs"};

/* In the scratch directory; $type is the file system's. */
static void run_typed(const char *command)
{
	ck_assert_int_eq(chdir(scratch), 0);
	ck_assert_msg(system(command) == 0, "%s", command);
	ck_assert_int_eq(chdir("/"), 0);
}

static bool epoch_of(const char *name, int flags, uint8_t *out)
{
	int fd = open(scratch_path(name), flags);
	bool known;

	ck_assert_int_ge(fd, 0);
	known = migrate_mount_epoch(fd, out);
	close(fd);
	return known;
}

START_TEST(of_a_mount)
{
	uint8_t first[LEN], same[LEN], other[LEN];

	setenv("type", types[_i], 1);
	run_typed("mkdir a b && truncate -s 320M image && mkfs.$type -q image");
	run_typed("mount -t $type -o loop image a && echo >a/file");
	ck_assert(epoch_of("a/file", O_RDWR, first));
	ck_assert(epoch_of("a/file", O_PATH, same));
	ck_assert_mem_eq(first, same, LEN);
	ck_assert(epoch_of("a", O_RDONLY, same));
	ck_assert_mem_eq(first, same, LEN);
	run_typed("mount -t $type \"$(findmnt -no SOURCE a)\" b && umount a");
	ck_assert(epoch_of("b/file", O_RDWR, same));
	ck_assert_mem_eq(first, same, LEN);
	run_typed("mount -o remount,ro b");
	ck_assert(epoch_of("b/file", O_RDONLY, same));
	ck_assert_mem_eq(first, same, LEN);
	run_typed("umount b && mount -t $type -o loop image a");
	ck_assert(epoch_of("a/file", O_RDWR, other));
	ck_assert_mem_ne(first, other, LEN);
	run_typed("umount a && rm image");
	scratch_remove();
}
END_TEST

START_TEST(of_a_subvolume)
{
	uint8_t top[LEN], below[LEN];

	run_typed("mkdir a && truncate -s 320M image && mkfs.btrfs -q image && "
		  "mount -o loop image a && btrfs -q subvolume create a/sub && echo >a/sub/file");
	ck_assert(epoch_of("a", O_RDONLY, top));
	ck_assert(epoch_of("a/sub/file", O_RDONLY, below));
	ck_assert_mem_eq(top, below, LEN);
	run_typed("umount a && rm image");
	scratch_remove();
}
END_TEST

START_TEST(of_tmpfs)
{
	char text[64] = "", ours[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	uint8_t id[LEN];

	run_typed("mount -t tmpfs tmpfs .");
	ck_assert(epoch_of("", O_RDONLY, id));
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
	fclose(file);
	for (int i = 0; i < LEN; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		snprintf(ours + strlen(ours), sizeof(ours) - strlen(ours), "%s%02x",
			 dash ? "-" : "", id[i]);
	}
	text[strcspn(text, "\n")] = 0;
	ck_assert_str_eq(ours, text);
	ck_assert_int_eq(umount(scratch), 0);
	scratch_remove();
}
END_TEST

/* What a process of its own is told: 1 and the epoch, or 0 and its own. */
static bool elsewhere(uint8_t *out)
{
	uint8_t answer[1 + LEN];
	int pipes[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		answer[0] = epoch_of("", O_RDONLY, answer + 1);
		_exit(write(pipes[1], answer, sizeof(answer)) != sizeof(answer));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(pipes[0], answer, sizeof(answer)), sizeof(answer));
	close(pipes[0]);
	close(pipes[1]);
	memcpy(out, answer + 1, LEN);
	return answer[0];
}

START_TEST(where_nothing_can_be_told)
{
	static const char *const commands[] = {
		"umount -l /sys", "mount -t tmpfs tmpfs /sys/fs", "mount -t ramfs ramfs .",
		("device=$(findmnt -no SOURCE -T .); type=$(findmnt -no FSTYPE -T .);"
		 "mount -t tmpfs tmpfs /sys/fs && mkdir -p /sys/fs/$type/${device#/dev/}")};
	uint8_t one[LEN], two[LEN];

	run_typed(commands[_i]);
	ck_assert(!elsewhere(one));
	ck_assert(!elsewhere(two));
	ck_assert_mem_ne(one, two, LEN);
	/* but a process always tells itself the same */
	ck_assert(!epoch_of("", O_RDONLY, one));
	ck_assert(!epoch_of("", O_RDONLY, two));
	ck_assert_mem_eq(one, two, LEN);
	umount(scratch);
	scratch_remove();
}
END_TEST

START_TEST(of_no_descriptor)
{
	uint8_t id[LEN];

	ck_assert(!migrate_mount_epoch(-1, id));
	ck_assert_int_eq(rmdir(scratch), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mount_epoch");

	tcase_add_checked_fixture(tcase, setup_mounts, NULL);
	tcase_add_loop_test(tcase, of_a_mount, 0, 3);
	tcase_add_test(tcase, of_a_subvolume);
	tcase_add_test(tcase, of_tmpfs);
	tcase_add_loop_test(tcase, where_nothing_can_be_told, 0, 4);
	tcase_add_test(tcase, of_no_descriptor);
	return run_case(tcase);
}
