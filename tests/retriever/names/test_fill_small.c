/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of small files, which come with the answer about their names. */
#include "tests/retriever/bringing_backend.h"
#include "tests/retriever/core_directory.h"

#include <sys/resource.h>

#include "lib/source/gate.h"
#include "retriever/making/make.h"

#define READS (1u << BACKEND_READ)

static void make(void)
{
	core_make(&core);
	core_carry(&core);
	core.wrap = bring_wrap;
	brings = WHOLE;
	atomic_store(&wanted, 0);
	core_source_file(&core, "d/one", 1, 1);
	core_source_file(&core, "d/some", 5000, 2);
	core_source_file(&core, "d/most", SMALL, 3);
	core_source_file(&core, "d/large", SMALL + 1, 4);
	core_source_file(&core, "d/empty", 0, 5);
}

static int start(void)
{
	make();
	core_start(&core);
	return core_find(&core, "d", O_RDONLY | O_DIRECTORY);
}

static int fill_with(int dir, unsigned flags)
{
	return core_wait(core_ask_fill(&core, dir, flags));
}

static int open_in(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s", name);
	return fd;
}

/* Whole and not to be told from one that was filled. */
static void expect_whole(int dir, const char *name, uint64_t size, unsigned seed)
{
	int fd = open_in(dir, name);
	struct stat st;

	do { /* again if it was killed in between */
		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		core_expect(fd, 0, size, seed);
		ck_assert_int_eq(core_sync(&core, fd), 0);
	} while (core_state(fd) != MIGRATE_NORMAL);
	core_expect(fd, 0, size, seed);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, size);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1100000000 + seed);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	close(fd);
}

static void expect_all(int dir)
{
	expect_whole(dir, "one", 1, 1);
	expect_whole(dir, "some", 5000, 2);
	expect_whole(dir, "most", SMALL, 3);
	expect_whole(dir, "large", SMALL + 1, 4);
	expect_whole(dir, "empty", 0, 5);
}

START_TEST(small_files_need_no_read)
{
	int dir = start(), large;

	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 3);
	expect_whole(dir, "some", 5000, 2);
	expect_whole(dir, "most", SMALL, 3);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 0);
	large = open_in(dir, "large");
	ck_assert_uint_eq(core_missing(large), SMALL + 1);
	close(large);
	expect_all(dir);
	core_expect_answer(&core, "status", "files-whole=5");
	core_free_with(&core, dir);
}
END_TEST

/* I8: that its bytes were read for us is not seen in its atime. */
START_TEST(i8_atime_from_before_the_bytes)
{
	g_autofree char *path = NULL;
	struct stat there, here;
	int dir = start();

	path = g_strconcat(core.source, "/d/some", NULL);
	ck_assert_int_eq(stat(path, &there), 0);
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 3);
	ck_assert_int_eq(fstatat(dir, "some", &here, 0), 0);
	ck_assert_int_eq(migrate_ns(here.st_atim), migrate_ns(there.st_atim));
	core_free_with(&core, dir);
}
END_TEST

/* I8: nor by who asks for the name, or lists the directory, while they are on their way. */
START_TEST(i8_atime_of_who_asks_meanwhile)
{
	int dir = start(), there = open(core.source, O_RDONLY | O_DIRECTORY);
	struct migrate_waiter *w;
	struct stat before, here;
	unsigned rule;
	char byte;

	ck_assert_int_eq(fstatat(there, "d/some", &before, 0), 0);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = XATTRS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL});
	w = core_ask_fill(&core, dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA);
	ck_assert(backend_fault_wait(core.fault, rule, 5));
	int read_there = openat(there, "d/some", O_RDONLY);
	ck_assert_int_eq(read(read_there, &byte, 1), 1);
	ck_assert_int_eq(fstat(read_there, &here), 0);
	ck_assert_msg(migrate_ns(here.st_atim) != migrate_ns(before.st_atim), "mounted noatime?");
	ck_assert_int_eq(_i ? fill_with(dir, 0) : core_name_in(&core, dir, "some"), 0);
	ck_assert_int_eq(fstatat(dir, "some", &here, AT_SYMLINK_NOFOLLOW), 0);
	ck_assert_int_eq(migrate_ns(here.st_atim), migrate_ns(before.st_atim));
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	close(read_there);
	close(there);
	core_free_with(&core, dir);
}
END_TEST

/* Likewise where nothing else is to be asked. */
START_TEST(bytes_alone)
{
	int dir;

	nothing_else = true;
	dir = start();
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 3);
	expect_whole(dir, "some", 5000, 2);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 0);
	core_free_with(&core, dir);
	/* what is there needs nothing more */
	dir = start();
	ck_assert_int_eq(core_name_in(&core, dir, "some"), 0);
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 2);
	core_free_with(&core, dir);
}
END_TEST

/* A client gets the names of a directory whose data does not come. */
START_TEST(i11_names_do_not_wait_for_data)
{
	struct migrate_waiter *w;
	unsigned rule;
	int dir;

	nothing_else = _i;
	dir = start();
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = XATTRS,
						      .priorities = 1u << BACKEND_BACKGROUND,
						      .action = FAULT_STALL});
	w = core_ask_fill(&core, dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA);
	ck_assert(backend_fault_wait(core.fault, rule, 3));
	ck_assert_int_eq(fill_with(dir, 0), 0);
	ck_assert_int_eq(faccessat(dir, "some", F_OK, 0), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* Nobody who waits for names, or wants nothing but names, pays for data. */
START_TEST(names_alone)
{
	int dir = start();

	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 0);
	core_free_with(&core, dir);
	dir = start();
	ck_assert_int_eq(fill_with(dir, MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 0);
	ck_assert_int_eq(core_name_in(&core, dir, "some"), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 0);
	core_free_with(&core, dir);
}
END_TEST

/* Names do not wait for a tape. */
START_TEST(data_that_is_elsewhere)
{
	int dir = start();

	on_tape = true;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 0);
	on_tape = false;
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* With the data a whole bulk is served. */
START_TEST(a_pass_that_moves_data)
{
	int dir = start();

	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 3);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 1); /* the large one */
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* I3: it may be read at once, and is missing in the record until it is durable. */
START_TEST(i3_the_record_waits_for_the_sync)
{
	int dir = start(), fd;

	core_hold("fdatasync syncfs");
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	fd = open_in(dir, "some");
	ck_assert_uint_eq(core_missing(fd), 5000);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 5000, 2);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 0);
	core_release();
	close(fd);
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* I3: what came with the names has blocks when it leaves the record, but for its zeros. */
START_TEST(i3_blocks_that_were_never_allocated)
{
	g_autofree uint8_t *zeros = g_malloc0(4096);
	g_autofree char *path = NULL;
	int dir, fd, source;

	make();
	path = g_strconcat(core.source, "/d/most", NULL);
	source = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(source, zeros, 4096, 8192), 4096);
	close(source);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_hold("fdatasync syncfs");
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	fd = open_in(dir, "some");
	ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 5000), 0);
	close(fd);
	core_release();
	core_restart(&core); /* the round is over */
	expect_whole(dir, "some", 5000, 2);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 1);
	fd = open_in(dir, "most");
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_expect_zeros(fd, 8192, 4096);
	close(fd);
	core_free_with(&core, dir);
}
END_TEST

/* I7: what a client writes before all of it is durable stays. */
START_TEST(i7_a_change_at_once)
{
	int dir = start(), fd, cut;

	core_hold("fdatasync syncfs");
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	fd = open_in(dir, "some");
	cut = open_in(dir, "most");
	ck_assert_int_eq(core_write(&core, fd, 1000, 2000, 77, false), 0);
	ck_assert_int_eq(core_truncate(&core, cut, 100), 0);
	core_release();
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(core_sync(&core, cut), 0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 1000, 2);
	core_expect(fd, 1000, 2000, 77);
	core_expect(fd, 3000, 2000, 2);
	ck_assert_int_eq(lseek(cut, 0, SEEK_END), 100);
	core_expect(cut, 0, 100, 3);
	close(fd);
	close(cut);
	core_free_with(&core, dir);
}
END_TEST

/* Bytes of another moment are none. */
START_TEST(i4_what_does_not_fit_is_fetched)
{
	int dir = start();

	brings = SHORT;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 3);
	expect_all(dir);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 4);
	core_free_with(&core, dir);
}
END_TEST

/* Nor are those of another file, which answers to the name. */
START_TEST(i4_what_is_of_another_file)
{
	int dir = start();

	brings = OTHER_FILE;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), -EREMOTEIO);
	ck_assert_int_eq(faccessat(dir, "some", F_OK, 0), -1);
	brings = WHOLE;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* A full disk leaves a stub. */
START_TEST(i12_no_room)
{
	int dir = start(), fd;

	core_fail_pwrite = ENOSPC;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	fd = open_in(dir, "some");
	ck_assert_uint_eq(core_missing(fd), 5000);
	close(fd);
	core_fail_pwrite = 0;
	expect_all(dir);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 4);
	core_free_with(&core, dir);
}
END_TEST

/* Nor does it cost a name. */
START_TEST(i12_no_room_for_what_else_it_has)
{
	int dir, fd;

	make();
	source_xattrs_add(core_xattrs_of("d/some"), "user.a", "1", 1);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_fail_xattr = "user.";
	core_fail_errno = EDQUOT;
	core_fail_with_data = true;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	core_fail_xattr = NULL;
	fd = open_in(dir, "some");
	ck_assert_uint_eq(core_missing(fd), 5000);
	ck_assert_int_eq(fgetxattr(fd, "user.a", NULL, 0), 1);
	close(fd);
	expect_all(dir);
	core_free_with(&core, dir);
}
END_TEST

/* Each is open until it is durable: of those that are too many the data is fetched later. */
START_TEST(no_more_are_open_than_may_be)
{
	const struct rlimit few = {400, 400};
	int dir;

	make();
	for (unsigned i = 0; i < 500; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, 100, 6);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	core_hold("fdatasync syncfs");
	together = 450;
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	core_release();
	expect_all(dir);
	expect_whole(dir, "f0", 100, 6);
	expect_whole(dir, "f499", 100, 6);
	core_free_with(&core, dir);
}
END_TEST

/* Killed before every step: what is there is a stub or whole, and the rest comes again. */
START_TEST(i4_killed_at_every_step)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int dir;

		make();
		core_supervise(&core, 0);
		core_connect(&core);
		dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
		atomic_store(&core_shared->left, nth);
		ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
		expect_all(dir);
		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		core_free_with(&core, dir);
		ck_assert_int_lt(nth, 300);
	}
}
END_TEST

/* More than may be on its way at a time. */
START_TEST(many)
{
	const unsigned n = 3 * GATE_CARRIED / SMALL / 2;
	struct rlimit files;
	int dir;

	/* each is open until it is durable, and fewer come while there are many */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	make();
	for (unsigned i = 0; i < n; i++) {
		g_autofree char *name = g_strdup_printf("d/f%u", i);

		core_source_file(&core, name, SMALL, 6);
	}
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_gt(atomic_load(&wanted) * SMALL, GATE_CARRIED);
	expect_whole(dir, "f0", SMALL, 6);
	core_free_with(&core, dir);
}
END_TEST

/* What has two names gets its data once, when both may be there. */
START_TEST(hard_links)
{
	g_autofree char *from = NULL, *to = NULL;
	int dir;

	make();
	from = g_strconcat(core.source, "/d/some", NULL);
	to = g_strconcat(core.source, "/d/other", NULL);
	ck_assert_int_eq(link(from, to), 0);
	core_start(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill_with(dir, MIGRATE_BACKGROUND | MIGRATE_SMALL_DATA), 0);
	ck_assert_uint_eq(atomic_load(&wanted), 2);
	expect_all(dir);
	expect_whole(dir, "other", 5000, 2);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 2); /* and the large one */
	core_free_with(&core, dir);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("small", 120);

	tcase_add_test(tcase, small_files_need_no_read);
	tcase_add_test(tcase, i8_atime_from_before_the_bytes);
	tcase_add_loop_test(tcase, i8_atime_of_who_asks_meanwhile, 0, 2);
	tcase_add_test(tcase, bytes_alone);
	tcase_add_loop_test(tcase, i11_names_do_not_wait_for_data, 0, 2);
	tcase_add_test(tcase, names_alone);
	tcase_add_test(tcase, data_that_is_elsewhere);
	tcase_add_test(tcase, a_pass_that_moves_data);
	tcase_add_test(tcase, i3_the_record_waits_for_the_sync);
	tcase_add_test(tcase, i3_blocks_that_were_never_allocated);
	tcase_add_test(tcase, i7_a_change_at_once);
	tcase_add_test(tcase, i4_what_does_not_fit_is_fetched);
	tcase_add_test(tcase, i4_what_is_of_another_file);
	tcase_add_test(tcase, i12_no_room);
	tcase_add_test(tcase, i12_no_room_for_what_else_it_has);
	tcase_add_test(tcase, no_more_are_open_than_may_be);
	tcase_add_test(tcase, i4_killed_at_every_step);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, hard_links);
	return run_tcase(tcase);
}
