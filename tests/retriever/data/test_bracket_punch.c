/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holes that clients punch. */
#include "tests/retriever/core_bracket.h"

#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>

/* After one whose record could not say that there may be holes, the next one says it. */
START_TEST(i4_a_punch_is_noted_again)
{
	struct migrate_record rec;
	uint64_t write, id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 8192, 1, &write), 0);
	core_fail_errno = EIO;
	core_fail_xattr = MIGRATE_XATTR;
	ck_assert_int_lt(core_begin(&core, fd, -1, MIGRATE_PUNCH, 0, SIZE, &id), 0);
	core_fail_xattr = NULL;
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, 0, 4096, &id), 0);
	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	ck_assert(rec.flags & MIGRATE_REC_HOLES);
	migrate_record_clear(&rec);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 0), 0);
	ck_assert_int_eq(core_end(&core, write, false, false, 0, 0), 0);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i7_a_punched_hole_stays)
{
	uint64_t id;
	int fd;

	start();
	fd = find();
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, 4096, 8192, &id), 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 4096, 8192), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 4096, 1);
	core_expect_zeros(fd, 4096, 8192);
	core_expect(fd, 12288, SIZE - 12288, 1);
	core_free_with(&core, fd);
}
END_TEST

static void punch(int fd, uint64_t start, uint64_t length)
{
	uint64_t id;

	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, start, length, &id), 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
				   (off_t)length),
			 0);
	ck_assert_int_eq(core_end(&core, id, true, false, start, length), 0);
}

static void expect_punched(int fd)
{
	core_expect(fd, 0, 4096, 1);
	core_expect_zeros(fd, 4096, 12288);
	core_expect(fd, 16384, 4096, 1);
	core_expect_zeros(fd, 20480, 12288);
	core_expect(fd, 32768, 4096, 1);
	core_expect_zeros(fd, 36864, 4096);
	core_expect(fd, 40960, 4096, 9);
	core_expect(fd, 45056, SIZE - 45056, 1);
}

static void run_shell(char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
	g_free(command);
}

static void start_on(const char *make, size_t size)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	core_make(&core);
	run_shell(g_strdup_printf("cd %s && truncate -s 320M image && %s image && "
				  "mount -o loop image %s",
				  core.dir, make, core.root));
	core_source_file(&core, "f", size, 1);
	core_start(&core);
}

/* On each file system: over what is missing, what was written, and what was punched already;
 * through a restart, and through another mount once it is durable. */
START_TEST(i7_holes_over_holes)
{
	static const char *const makes[] = {"mkfs.ext4 -q -b 4096", "mkfs.xfs -q", "mkfs.btrfs -q"};
	int fd;

	start_on(makes[_i], SIZE);
	fd = find();
	ck_assert_int_eq(core_write(&core, fd, 24576, 4096, 9, false), 0);
	punch(fd, 4096, 8192);
	punch(fd, 8192, 8192);
	punch(fd, 20480, 12288);
	punch(fd, 36864, 8192);
	ck_assert_int_eq(core_write(&core, fd, 40960, 4096, 9, false), 0);
	close(fd);
	core_restart(&core);
	fd = find();
	punch(fd, 4096, 8192);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	close(fd);
	core_disconnect(&core);
	core_close(&core);
	run_shell(g_strdup_printf("umount %s && mount -o loop %s/image %s", core.root, core.dir,
				  core.root));
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	fd = find();
	ck_assert_int_eq(core_state(fd), MIGRATE_PARTIAL);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	expect_punched(fd);
	core_sync_normal(&core, fd);
	expect_punched(fd);
	close(fd);
	core_disconnect(&core);
	core_close(&core);
	run_shell(g_strdup_printf("umount %s", core.root));
	core_free(&core);
}
END_TEST

static void punch_as(uid_t uid, int fd, uint64_t start, uint64_t length)
{
	const struct timespec old[2] = {{1200000001, 0}, {1200000001, 0}};
	struct migrate_stub stub;
	struct stat st;
	uint64_t id;

	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(fchown(fd, 12, 34), 0);
	ck_assert_int_eq(fchmod(fd, 06777), 0);
	ck_assert_int_eq(futimens(fd, old), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, start, length, &id), 0);
	ck_assert_int_eq(setfsuid(uid), 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
				   (off_t)length),
			 0);
	setfsuid(0);
	ck_assert_int_eq(core_end(&core, id, true, false, start, length), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_gt(stub.mtime.tv_sec, old[0].tv_sec);
	migrate_stub_clear(&stub);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, uid ? 0777 : 06777);
}

/* What another client sets while its bracket is open stays, if then nothing is punched. */
static void time_beside_punch(int fd, uint64_t start, uint64_t length)
{
	const struct timespec times[2] = {{1300000001, 0}, {1300000002, 22}};
	struct migrate_stub stub;
	uint64_t id, punch;

	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, start, length, &punch), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(core_end(&core, punch, false, false, 0, 0), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.mtime.tv_sec, times[1].tv_sec);
	ck_assert_int_eq(stub.mtime.tv_nsec, times[1].tv_nsec);
	migrate_stub_clear(&stub);
}

/* Of what is missing, some, and behind the end, in its block: as where there are data. */
START_TEST(i7_a_punched_hole_on_btrfs)
{
	int fd;

	start_on("mkfs.btrfs -q", SIZE + 100);
	fd = find();
	punch_as(0, fd, 4096, 8192);
	punch_as(99, fd, 16384, 8192);
	punch_as(99, fd, SIZE + 100, 1000);
	time_beside_punch(fd, 32768, 4096);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 4096, 1);
	core_expect_zeros(fd, 4096, 8192);
	core_expect(fd, 12288, 4096, 1);
	core_expect_zeros(fd, 16384, 8192);
	core_expect(fd, 24576, SIZE + 100 - 24576, 1);
	close(fd);
	core_disconnect(&core);
	core_close(&core);
	run_shell(g_strdup_printf("umount %s", core.root));
	core_free(&core);
}
END_TEST

/* Where its file system does nothing, as there is a hole already, which is what is missing. */
START_TEST(i7_a_punched_hole_moves_mtime)
{
	struct migrate_stub stub;
	struct timespec before;
	uint64_t id;
	int fd;

	start();
	fd = find();
	clock_gettime(CLOCK_REALTIME_COARSE, &before);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, 4096, 8192, &id), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 4096, 8192), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_ge(stub.mtime.tv_sec, before.tv_sec);
	migrate_stub_clear(&stub);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("bracket", 60);

	tcase_add_test(tcase, i4_a_punch_is_noted_again);
	tcase_add_test(tcase, i7_a_punched_hole_stays);
	tcase_add_loop_test(tcase, i7_holes_over_holes, 0, 3);
	tcase_add_test(tcase, i7_a_punched_hole_moves_mtime);
	tcase_add_test(tcase, i7_a_punched_hole_on_btrfs);
	return run_tcase(tcase);
}
