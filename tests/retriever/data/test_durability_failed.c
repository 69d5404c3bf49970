/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disks that do not keep what they were given: what was lost is fetched again, and clients are
 * told. */
#include "tests/retriever/core_durability.h"

#include <sched.h>

#include "retriever/objects/waiters.h"

static atomic_bool told;

/* Between these no round runs, so that what a client's sync tells is its own. */
static GMutex rounds_lock;
static atomic_bool rounds_held;

static void hold_round(void *arg, int status)
{
	atomic_store(&rounds_held, true);
	g_mutex_lock(&rounds_lock);
	g_mutex_unlock(&rounds_lock);
}

static void hold_rounds(void)
{
	g_mutex_lock(&rounds_lock);
	atomic_store(&rounds_held, false);
	durability_after_round(core.retriever, hold_round, NULL);
	while (!atomic_load(&rounds_held))
		sched_yield();
}

static void release_rounds(void)
{
	g_mutex_unlock(&rounds_lock);
}

static int start_without_rounds(void)
{
	int fd = start();

	hold_rounds();
	return fd;
}

/* The kernel tells once that data could not be written, and takes it for written then: whoever was
 * told, nothing that was here before is durable after a later sync that succeeds. */
START_TEST(i3_a_failed_sync_counts_for_all)
{
	int fd = start_without_rounds();

	ck_assert_int_eq(core_range(&core, fd, 0, 10000), 0);
	if (_i) /* a client's bytes too */
		ck_assert_int_eq(core_write(&core, fd, 20000, 5000, 9, false), 0);
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_fail_sync = NULL;
	ck_assert_uint_eq(core_missing(fd), SIZE);
	core_sync(&core, fd); /* may tell another client, or not */
	ck_assert_uint_eq(core_missing(fd), SIZE);
	if (_i)
		ck_assert(!core_present(fd, 20000, 5000));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	release_rounds();
	core_sync_normal(&core, fd);
	core_free_with(&core, fd);
}
END_TEST

static void note_done(void *arg, int status)
{
	atomic_store((atomic_int *)arg, status == 0 ? 1 : -1);
}

static void fetch_files(int first, int n)
{
	for (int i = first; i < first + n; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);
		int fd = core_find(&core, name, O_RDWR);

		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		close(fd);
	}
}

/* The round that they are in. */
static void wait_round(void)
{
	atomic_int done = 0;

	durability_after_round(core.retriever, note_done, &done);
	while (!atomic_load(&done))
		sched_yield();
}

static void expect_missing(int first, int n)
{
	for (int i = first; i < first + n; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);
		int fd = core_find(&core, name, O_RDWR);

		ck_assert_uint_eq(core_missing(fd), 100);
		close(fd);
	}
}

/* In the end; one may be queued only after its answer. */
static void expect_whole(int n)
{
	for (int i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);
		int fd = core_find(&core, name, O_RDWR);

		while (core_state(fd) != MIGRATE_NORMAL) {
			ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
			wait_round();
		}
		core_expect(fd, 0, 100, i);
		close(fd);
	}
}

/* A disk that lost bytes tells it once for all; then each file is asked about its own. */
START_TEST(i3_a_disk_that_fails)
{
	core_make(&core);
	for (int i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);

		core_source_file(&core, name, 100, i);
	}
	core_start(&core);
	hold_rounds();
	core_fail_sync = "syncfs";
	fetch_files(0, 10);
	release_rounds();
	wait_round();
	expect_missing(0, 10);
	hold_rounds();
	core_fail_sync = "fdatasync";
	fetch_files(10, 10);
	release_rounds();
	wait_round();
	expect_missing(10, 10);
	core_fail_sync = NULL;
	expect_whole(20);
	core_expect_answer(&core, "status", "files-whole=20");
	core_free(&core);
}
END_TEST

/* A client that made names waits for them. */
START_TEST(i3_a_directory_that_fails)
{
	int fd, dir;

	core_make(&core);
	core_source_file(&core, "d/f", 100, 1);
	core_start(&core);
	fd = core_find(&core, "d/f", O_RDONLY);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_fail_sync = "fsync";
	ck_assert_int_eq(core_sync(&core, dir), -EIO);
	core_fail_sync = NULL;
	ck_assert_int_eq(core_sync(&core, dir), 0);
	close(dir);
	core_free_with(&core, fd);
}
END_TEST

/* What a client's COMMIT was told of is not taken for durable by a round, whose sync succeeds. */
START_TEST(i3_a_commit_that_fails)
{
	int fd = start_without_rounds();

	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_fail_sync = NULL;
	release_rounds();
	wait_round();
	wait_round();
	ck_assert_uint_eq(core_missing(fd), SIZE);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Never comes back where its caller has the lock; a round may have it for a moment. */
static void flush_oneself(void *arg, int status)
{
	struct object *object = arg;

	g_mutex_lock(&file_of(object)->sync_lock);
	g_mutex_unlock(&file_of(object)->sync_lock);
	told = status == -EIO;
}

/* Who is told of a failure may flush the file himself. */
START_TEST(told_without_locks)
{
	struct object *object;
	int fd = start_without_rounds();

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	g_mutex_lock(&object->lock);
	waiters_add(object, 0, SIZE, false, flush_oneself, object);
	g_mutex_unlock(&object->lock);
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync_object(object), -EIO);
	core_fail_sync = NULL;
	ck_assert(told);
	release_rounds();
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* A disk that finds no space for what was accepted is no record that does not fit: the client is
 * told. */
START_TEST(i7_a_commit_without_space)
{
	int fd = start_without_rounds();

	ck_assert_int_eq(core_write(&core, fd, 100, 10, 9, false), 0);
	core_fail_sync_errno = ENOSPC;
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_fail_sync = NULL;
	core_fail_sync_errno = EIO;
	ck_assert_uint_eq(core_missing(fd), SIZE);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	release_rounds();
	core_free_with(&core, fd);
}
END_TEST

/* A write that a round lost: its client is told by the next COMMIT, though the disk is well again,
 * and the old bytes are served rather than what the disk may have. */
START_TEST(i7_a_round_that_fails)
{
	int fd = start();

	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_write(&core, fd, 100, 10, 9, false), 0);
	wait_round();
	core_fail_sync = NULL;
	ck_assert_uint_eq(core_missing(fd), SIZE);
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A reader who saw zeros waits until what is here is durable or known to be lost; a client's notice
 * is not his. */
START_TEST(i4_made_durable_for_a_reader)
{
	const unsigned flags = MIGRATE_DURABLE;
	int fd = start_without_rounds();

	ck_assert_int_eq(core_write(&core, fd, 0, 10, 9, false), 0);
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, 1, flags)), 0);
	ck_assert_uint_eq(core_missing(fd), SIZE - 10);
	ck_assert_int_eq(core_write(&core, fd, 60000, 10, 9, false), 0);
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 60000, 10, flags)), -EIO);
	core_fail_sync = NULL;
	ck_assert(!core_present(fd, 60000, 10));
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 60000, 10, flags)), 0);
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, 1, flags)), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, 1, flags)), 0);
	core_expect(fd, 10, SIZE - 10, 1);
	release_rounds();
	core_free_with(&core, fd);
}
END_TEST

/* The record that a retriever leaves that is killed after clients wrote. */
static void leave_dirty(int fd, uint16_t flags)
{
	g_autofree uint8_t *data = core_bytes(9, 20000, 100);
	struct migrate_record rec;

	ck_assert_int_eq(migrate_record_load(fd, &rec), 1);
	migrate_extents_add(&rec.dirty, 100, 8192);
	migrate_extents_add(&rec.dirty, 20000, 20100);
	memcpy(rec.epoch, mount_epoch, sizeof(rec.epoch));
	rec.flags |= flags | MIGRATE_REC_CLIENT;
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
	ck_assert_int_eq(pwrite(fd, data, 100, 20000), 100);
}

/* A retriever's descriptor is not told of a write-back that failed before it was opened, if another
 * one was.  What the kernel dropped since is lost, and no hole: the old bytes come back, and the
 * client is told.  Unless clients make holes, or the file system does of their zeros. */
START_TEST(i3_lost_before_the_retriever_came)
{
	int fd = start();

	core_close(&core);
	leave_dirty(fd, _i == 1 ? MIGRATE_REC_HOLES : 0);
	core_open(&core);
	core.retriever->capabilities.lacking |= _i == 2 ? 1u << CAPABILITY_ZEROS : 0;
	core_run(&core);
	ck_assert_int_eq(core_sync(&core, fd), _i ? 0 : -EIO);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_eq(core_missing(fd), SIZE - 100 - (_i ? 8092 : 0));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 100, 1);
	if (_i)
		core_expect_zeros(fd, 100, 8092);
	else
		core_expect(fd, 100, 20000 - 100, 1);
	core_expect(fd, 20000, 100, 9);
	core_free_with(&core, fd);
}
END_TEST

/* A disk that does not take the record either: memory knows that the bytes are lost, until it does.
 */
START_TEST(i4_a_loss_that_cannot_be_recorded)
{
	int fd = start_without_rounds();

	ck_assert_int_eq(core_write(&core, fd, 100, 10, 9, false), 0);
	core_fail_xattr = "security.migrate";
	core_fail_errno = EIO;
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_fail_sync = NULL;
	ck_assert(core_present(fd, 100, 10));
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 100, 10, MIGRATE_DURABLE)), -EIO);
	release_rounds();
	wait_round();
	wait_round();
	ck_assert(core_present(fd, 100, 10));
	core_fail_xattr = NULL;
	wait_round();
	ck_assert(!core_present(fd, 100, 10));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A change that was under way when a write-back failed may be lost with it: its client is told. */
START_TEST(i7_a_write_while_a_commit_fails)
{
	uint64_t id;
	int fd = start_without_rounds();

	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, 10, &id), 0);
	ck_assert_int_eq(pwrite(fd, "0123456789", 10, 0), 10);
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_fail_sync = NULL;
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 10), -EIO);
	ck_assert_uint_eq(core_missing(fd), SIZE);
	release_rounds();
	core_free_with(&core, fd);
}
END_TEST

/* Every file of the new server loses its blocks before a sync, which says nothing. */
static void lose_blocks_of(int fd)
{
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE), 0);
}

static int losing[20], losing_n;

static void lose_blocks(const char *call, int fd, bool after)
{
	for (int i = 0; strstr("fdatasync syncfs", call) && !after && i < losing_n; i++)
		lose_blocks_of(losing[i]);
}

START_TEST(i3_blocks_that_were_never_allocated)
{
	int fd = start_without_rounds();

	losing[0] = fd;
	losing_n = 1;
	atomic_store(&core_hook, lose_blocks);
	ck_assert_int_eq(core_range(&core, fd, 0, 10000), 0);
	if (_i) /* a client's bytes too */
		ck_assert_int_eq(core_write(&core, fd, 20000, 5000, 9, false), 0);
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(core_missing(fd), SIZE);
	core_sync(&core, fd); /* may tell another client, or not */
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	release_rounds();
	core_sync_normal(&core, fd);
	core_expect(fd, 0, SIZE, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Of many, with one call. */
START_TEST(i3_a_round_without_blocks)
{
	core_make(&core);
	for (int i = 0; i < 20; i++) {
		g_autofree char *name = g_strdup_printf("f%d", i);

		core_source_file(&core, name, 100, i);
	}
	core_start(&core);
	for (losing_n = 0; losing_n < 20; losing_n++) {
		g_autofree char *name = g_strdup_printf("f%d", losing_n);

		losing[losing_n] = core_find(&core, name, O_RDWR);
	}
	hold_rounds();
	atomic_store(&core_hook, lose_blocks);
	fetch_files(0, 20);
	release_rounds();
	wait_round();
	atomic_store(&core_hook, NULL);
	expect_missing(0, 20);
	expect_whole(20);
	core_expect_answer(&core, "status", "files-whole=20");
	while (losing_n)
		close(losing[--losing_n]);
	core_free(&core);
}
END_TEST

/* Zeros of which the file system makes a hole are a client's bytes, and no loss. */
START_TEST(i7_zeros_that_are_compressed)
{
	const uint8_t zeros[8192] = {0};
	uint64_t id;
	int fd = start();

	core.retriever->capabilities.lacking = _i ? 1u << CAPABILITY_ZEROS : 0;
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_WRITE, 0, sizeof(zeros), &id), 0);
	ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
	lose_blocks_of(fd);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, sizeof(zeros)), 0);
	ck_assert_int_eq(core_sync(&core, fd), _i ? 0 : -EIO);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	if (_i)
		core_expect_zeros(fd, 0, sizeof(zeros));
	core_expect(fd, _i ? sizeof(zeros) : 0, SIZE - (_i ? sizeof(zeros) : 0), 1);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("durability_failed", 60);

	tcase_add_loop_test(tcase, i3_a_failed_sync_counts_for_all, 0, 2);
	tcase_add_test(tcase, i3_a_disk_that_fails);
	tcase_add_test(tcase, i3_a_directory_that_fails);
	tcase_add_test(tcase, i3_a_commit_that_fails);
	tcase_add_test(tcase, told_without_locks);
	tcase_add_test(tcase, i7_a_commit_without_space);
	tcase_add_test(tcase, i7_a_round_that_fails);
	tcase_add_test(tcase, i4_made_durable_for_a_reader);
	tcase_add_loop_test(tcase, i3_lost_before_the_retriever_came, 0, 3);
	tcase_add_test(tcase, i4_a_loss_that_cannot_be_recorded);
	tcase_add_test(tcase, i7_a_write_while_a_commit_fails);
	tcase_add_loop_test(tcase, i3_blocks_that_were_never_allocated, 0, 2);
	tcase_add_test(tcase, i3_a_round_without_blocks);
	tcase_add_loop_test(tcase, i7_zeros_that_are_compressed, 0, 2);
	return run_tcase(tcase);
}
