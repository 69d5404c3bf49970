/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is durable, what is in the record, and what a kill or a power cut leaves. */
#include "tests/retriever/core_durability.h"

#include <sched.h>
#include <sys/resource.h>

#include "lib/report/fill_notes.h"
#include "retriever/data/fetch.h"

/* I3: the bytes are in the page cache, and the client has them, but the range stays in the record
 * while the sync has not returned. */
START_TEST(i3_a_range_leaves_the_record_after_the_sync)
{
	int fd = start();

	core_hold("fdatasync syncfs");
	ck_assert_int_eq(core_range(&core, fd, 0, 10000), 0);
	core_expect(fd, 0, 10000, 1);
	core_wait_held(1);
	ck_assert_uint_eq(core_missing(fd), SIZE);
	core_release();
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_le(core_missing(fd), SIZE - 10000);
	/* and are counted, within a file that is not whole */
	ck_assert_int_eq(COUNT_BYTES_HERE(core.retriever), SIZE - core_missing(fd));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_whole), SIZE);
	ck_assert_int_eq(COUNT_BYTES_HERE(core.retriever), SIZE);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(i3_a_record_is_dropped_after_the_sync)
{
	int fd = start();

	core_hold("fdatasync syncfs");
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_wait_held(1);
	ck_assert_int_eq(core_state(fd), MIGRATE_PARTIAL);
	core_release();
	core_sync_normal(&core, fd);
	core_free_with(&core, fd);
}
END_TEST

static bool is_noted(int fd)
{
	g_autofree char *path = g_build_filename(core.source, "f", NULL);
	struct stat here, there;
	int root = core_root(&core);
	bool noted;

	ck_assert_int_eq(fstat(fd, &here), 0);
	ck_assert_int_eq(stat(path, &there), 0);
	noted = fill_notes_has(root, &here, there.st_ino);
	close(root);
	return noted;
}

/* For the way back: what it need not compare after a gap of the journal. */
START_TEST(a_fill_is_noted_unless_a_client_wrote)
{
	int fd = start();

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	ck_assert(is_noted(fd));
	core_free_with(&core, fd);
	fd = start();
	ck_assert_int_eq(core_write(&core, fd, 1000, 5000, 9, false), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	ck_assert(!is_noted(fd));
	core_free_with(&core, fd);
}
END_TEST

/* By itself, within a round; many at once with one call. */
START_TEST(rounds_end_by_themselves)
{
	const unsigned n = 20;
	struct migrate_waiter *w;
	int root;

	core_make(&core);
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		core_source_file(&core, name, 100 + i, i);
	}
	core_start(&core);
	root = core_root(&core);
	w = core_ask_fill(&core, root, MIGRATE_DATA | MIGRATE_BACKGROUND);
	ck_assert_int_eq(core_wait(w), 0);
	while (core_finish(&core, root) == -EAGAIN) /* waits for rounds itself */
		;
	ck_assert_int_eq(core_state(root), MIGRATE_NORMAL);
	core_free_with(&core, root);
}
END_TEST

/* I7: a client's bytes survive a kill once END was answered, in the same mount. */
START_TEST(i7_a_kill_after_end)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_supervise(&core, 0);
	core_connect(&core);
	fd = core_find(&core, "f", O_RDWR);
	ck_assert_int_eq(core_write(&core, fd, 1000, 5000, 9, false), 0);
	core_kill(&core);
	ck_assert(core_present(fd, 1000, 5000));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 1000, 1);
	core_expect(fd, 1000, 5000, 9);
	core_expect(fd, 6000, SIZE - 6000, 1);
	core_disconnect(&core);
	core_end_supervision(&core);
	core_free_with(&core, fd);
}
END_TEST

/* I7: after a power cut only what was made durable counts; the rest is missing again, and no hole
 * is shown. */
START_TEST(i7_a_power_cut)
{
	int fd = start();

	ck_assert_int_eq(core_write(&core, fd, 1000, 1000, 9, true), 0);
	ck_assert_int_eq(core_write(&core, fd, 3000, 1000, 9, false), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	core_hold("fdatasync syncfs");
	ck_assert_int_eq(core_write(&core, fd, 5000, 1000, 9, false), 0);
	ck_assert(core_present(fd, 5000, 1000));
	mount_epoch[0] = 'x';
	ck_assert(core_present(fd, 1000, 1000));
	ck_assert(core_present(fd, 3000, 1000));
	ck_assert(!core_present(fd, 5000, 1000));
	mount_epoch[0] = 'o';
	core_release();
	core_free_with(&core, fd);
}
END_TEST

/* As on file systems that do not tell holes: what a client wrote is durable with END. */
START_TEST(i7_without_holes_end_is_durable)
{
	int fd = start();

	core.retriever->capabilities.lacking |= 1u << CAPABILITY_HOLES;
	ck_assert_int_eq(core_write(&core, fd, 1000, 1000, 9, false), 0);
	mount_epoch[0] = 'x';
	ck_assert(core_present(fd, 1000, 1000));
	mount_epoch[0] = 'o';
	core_fail_sync = "fdatasync";
	ck_assert_int_eq(core_write(&core, fd, 5000, 1000, 9, false), -EIO);
	core_fail_sync = NULL;
	ck_assert(!core_present(fd, 5000, 1000));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 1000, 1000, 9);
	core_expect(fd, 2000, SIZE - 2000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* There what is found dirty may have been dropped: no hole is shown, and the loss is listed. */
START_TEST(i4_without_holes_dirty_is_missing)
{
	g_autofree uint8_t *data = core_bytes(9, 0, 8192);
	struct migrate_record record;
	int fd = start();

	ck_assert_int_eq(pwrite(fd, data, 8192, 0), 8192);
	ck_assert_int_eq(migrate_record_load(fd, &record), 1);
	ck_assert_int_eq(migrate_extents_add(&record.dirty, 0, 8192), 0);
	memcpy(record.epoch, mount_epoch, sizeof(record.epoch));
	ck_assert_int_eq(migrate_record_store(fd, &record), 0);
	migrate_record_clear(&record);
	ck_assert(core_present(fd, 0, 8192));
	core.retriever->capabilities.lacking |= 1u << CAPABILITY_HOLES;
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, SIZE, 1);
	ck_assert_int_eq(core_sync(&core, fd), -EIO);
	core_free_with(&core, fd);
}
END_TEST

static void change_the_file(int fd)
{
	uint64_t id;
	int ret;

	ck_assert_int_eq(core_write(&core, fd, 1000, 5000, 9, false), 0);
	ck_assert_int_eq(core_truncate(&core, fd, SIZE / 2), 0);
	ck_assert_int_eq(core_truncate(&core, fd, SIZE), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, 500), 0);
	ck_assert_int_eq(core_write(&core, fd, 40000, 2000, 7, true), 0);
	do {
		ret = core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id);
		if (ret)
			continue;
		ck_assert_int_eq(fchmod(fd, 0611), 0);
		ret = core_end(&core, id, true, false, 0, 0);
	} while (ret == -ECONNRESET);
	ck_assert_int_eq(ret, 0);
}

static void check_the_file(int fd)
{
	struct stat st;

	core_expect(fd, 0, 1000, 1);
	core_expect(fd, 1000, 5000, 9);
	core_expect(fd, 6000, SIZE / 2 - 6000, 1);
	core_expect_zeros(fd, SIZE / 2, 40000 - SIZE / 2);
	core_expect(fd, 40000, 2000, 7);
	core_expect_zeros(fd, 42000, SIZE - 42000);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, SIZE);
	ck_assert_uint_eq(st.st_mode & 07777, 0611);
	ck_assert_int_gt(st.st_mtim.tv_sec, 1700000000);
}

/* Killed before every change to the file system on the way: the door goes through its loops again,
 * and what it was told is true at the end. */
START_TEST(i7_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int fd;

		core_make(&core);
		core_source_file(&core, "f", SIZE, 1);
		core_supervise(&core, nth);
		core_connect(&core);
		fd = core_find(&core, "f", O_RDWR);
		change_the_file(fd);
		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		core_start(&core);
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		check_the_file(fd);
		core_sync_normal(&core, fd);
		check_the_file(fd);
		core_free_with(&core, fd);
		ck_assert_int_lt(nth, 500);
	}
}
END_TEST

/* A file that became normal a moment ago is flushed when a client asks for it: its record must not
 * come back with a power cut. */
static atomic_uint flushes;

static void count_flushes(const char *call, int fd, bool after)
{
	if (!after && !strcmp(call, "fsync"))
		atomic_fetch_add(&flushes, 1);
}

START_TEST(i7_a_sync_of_a_normal_file_flushes)
{
	int fd = start();

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_sync_normal(&core, fd);
	atomic_store(&core_hook, count_flushes);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_eq(atomic_load(&flushes), 1);
	ck_assert_int_eq(core_write(&core, fd, 0, 10, 9, true), 0);
	ck_assert_uint_eq(atomic_load(&flushes), 2);
	core_free_with(&core, fd);
}
END_TEST

/* COMMIT: data first, then the record, then the record's flush. */
static char order[256];

static void note_order(const char *call, int fd, bool after)
{
	if (!after && (strstr(call, "sync") || strstr(call, "xattr"))) {
		g_strlcat(order, call, sizeof(order));
		g_strlcat(order, " ", sizeof(order));
	}
}

START_TEST(i7_the_order_of_a_commit)
{
	int fd = start();

	ck_assert_int_eq(core_write(&core, fd, 0, 10, 9, false), 0);
	core_restart(&core); /* the round is over */
	ck_assert_int_eq(core_write(&core, fd, 20, 10, 9, false), 0);
	core_close(&core);
	core_open(&core);
	atomic_store(&core_hook, note_order);
	{
		struct object *object;

		ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
		ck_assert_int_eq(core_sync_object(object), 0);
		object_unref(object);
	}
	atomic_store(&core_hook, NULL);
	ck_assert_str_eq(order, "fdatasync fsetxattr fsync ");
	core_free_with(&core, fd);
}
END_TEST

/* An open bracket keeps the record; its end lets it go. */
static void note_done(void *arg, int status)
{
	atomic_store((atomic_int *)arg, status == 0 ? 1 : -1);
}

/* What waits for the disk is bounded; demand goes on for longer; nobody is forgotten. */
START_TEST(a_slow_disk_holds_the_background_back)
{
	const struct rlimit few = {200, 200}; /* so that 50 may wait */
	struct migrate_waiter *fill;
	struct object *object;
	atomic_int done = 0;
	int dir, fd;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	core_make(&core);
	for (unsigned i = 0; i < 60; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, 100, i);
	}
	core_source_file(&core, "g", 100, 1);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fd = core_find(&core, "g", O_RDONLY);
	core_hold("fdatasync syncfs");
	fill = core_ask_fill(&core, dir, MIGRATE_DATA | MIGRATE_BACKGROUND);
	while (!durability_crowded(core.retriever, true))
		sched_yield();
	ck_assert(!durability_crowded(core.retriever, false));
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	fetch_range(object, 0, INT64_MAX, true, note_done, &done);
	g_mutex_lock(&object->lock);
	ck_assert(migrate_extents_empty(&file_of(object)->inflight[1]));
	ck_assert(migrate_extents_empty(&file_of(object)->filled));
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 100, 1);
	ck_assert_int_eq(atomic_load(&done), 0);
	core_release();
	while (!atomic_load(&done))
		sched_yield();
	ck_assert_int_eq(atomic_load(&done), 1);
	ck_assert_int_eq(core_wait(fill), 0);
	object_unref(object);
	close(dir);
	core_free_with(&core, fd);
}
END_TEST

/* I7: a client's hole survives a kill. */
START_TEST(i7_a_kill_after_a_hole)
{
	uint64_t id;
	int fd;

	core_make(&core);
	core_source_file(&core, "f", SIZE, 1);
	core_supervise(&core, 0);
	core_connect(&core);
	fd = core_find(&core, "f", O_RDWR);
	ck_assert_int_eq(core_write(&core, fd, 0, 8192, 9, false), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_PUNCH, 0, 8192, &id), 0);
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192), 0);
	if (_i)
		ck_assert_int_eq(core_end(&core, id, true, false, 0, 8192), 0);
	core_kill(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect_zeros(fd, 0, 8192);
	core_disconnect(&core);
	core_end_supervision(&core);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(no_drop_under_a_bracket)
{
	uint64_t id;
	int fd = start();

	ck_assert_int_eq(core_write(&core, fd, 0, SIZE, 9, false), 0);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_PARTIAL);
	ck_assert_int_eq(core_end(&core, id, true, true, 0, 0), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("durability", 60);

	tcase_add_test(tcase, i3_a_range_leaves_the_record_after_the_sync);
	tcase_add_test(tcase, i3_a_record_is_dropped_after_the_sync);
	tcase_add_test(tcase, a_fill_is_noted_unless_a_client_wrote);
	tcase_add_test(tcase, rounds_end_by_themselves);
	tcase_add_test(tcase, i7_a_kill_after_end);
	tcase_add_test(tcase, i7_a_power_cut);
	tcase_add_test(tcase, i7_without_holes_end_is_durable);
	tcase_add_test(tcase, i4_without_holes_dirty_is_missing);
	tcase_add_test(tcase, i7_killed_at_every_step);
	tcase_add_test(tcase, i7_a_sync_of_a_normal_file_flushes);
	tcase_add_test(tcase, i7_the_order_of_a_commit);
	tcase_add_test(tcase, a_slow_disk_holds_the_background_back);
	tcase_add_loop_test(tcase, i7_a_kill_after_a_hole, 0, 2);
	tcase_add_test(tcase, no_drop_under_a_bracket);
	return run_tcase(tcase);
}
