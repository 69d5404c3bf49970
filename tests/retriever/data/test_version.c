/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/objects/errors.h"
#include "retriever/volume/retry.h"

#define SIZE  (3 * MIB)
#define FIRST (64 * KIB)  /* what is asked for first */
#define AHEAD (256 * KIB) /* what comes with it */

static struct core core;

static void retry_with(enum version_trust trust)
{
	g_autofree char *text = NULL;

	ck_assert_int_eq(retry_all(core.retriever, NULL, trust, &text), 0);
}

static void retry(void)
{
	retry_with(VERSION_NEW);
}

static char *source_path(const char *name)
{
	return g_strconcat(core.source, "/", name, NULL);
}

static void in_source(int (*fn)(const char *from, const char *to), const char *from, const char *to)
{
	g_autofree char *a = source_path(from), *b = source_path(to);

	ck_assert_int_eq(fn(a, b), 0);
}

/* Replaced as programs do it: by another file that takes the name. */
static void replace(uint64_t size, unsigned seed)
{
	core_source_file(&core, "new", size, seed);
	in_source(rename, "new", "f");
}

/* Of pattern seed, and with the mtime of pattern 1. */
static void replace_hidden(unsigned seed)
{
	g_autofree char *path = source_path("new");
	const struct timespec times[2] = {{1000000001, 5}, {1100000001, 123456789}};

	core_source_file(&core, "new", SIZE, seed);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	in_source(rename, "new", "f");
}

static void source_mode(mode_t mode)
{
	g_autofree char *path = source_path("f");

	ck_assert_int_eq(chmod(path, mode), 0);
}

/* The one entry of the list, whose reason contains part. */
static void expect_reason(const char *part)
{
	struct error_entry e;

	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert(errors_get(core.retriever->errors, &(guint){0}, NULL, &e));
	ck_assert_msg(strstr(e.reason, part), "%s", e.reason);
	error_entry_clear(&e);
}

/* A stub, the first part of which is here and durable, so that nobody can tell where it is from. */
static int start_partly(void)
{
	int fd = core_with_file(&core, SIZE, O_RDWR);

	ck_assert_int_eq(core_range(&core, fd, 0, FIRST), 0);
	/* what is read ahead must not meet what tests do to the file: it may be told another reason
	 */
	ck_assert_int_eq(core_range(&core, fd, 0, AHEAD), 0);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert(core_present(fd, 0, FIRST));
	ck_assert(!core_present(fd, SIZE - 1, 1));
	return fd;
}

static void expect_whole(int fd, uint64_t size, unsigned seed)
{
	struct stat st;

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, size, seed);
	core_sync_normal(&core, fd);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, size);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}

/* The old file is gone, its name leads to another one: an error, until the administrator insists;
 * then all of the other, and nothing of the first. */
static void replaced_by(uint64_t size)
{
	int fd = start_partly();

	replace(size, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	expect_reason("one that replaced");
	core_expect(fd, 0, FIRST, 1);
	retry();
	ck_assert(size == 0 || !core_present(fd, 0, 1));
	if (size == 0) { /* nothing is missing: whole without being asked for */
		core_restart(&core);
		ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	}
	expect_whole(fd, size, 7);
}

START_TEST(i4_replaced)
{
	replaced_by(SIZE);
	replaced_by(SIZE / 2);
	replaced_by(SIZE * 2);
	replaced_by(0);
}
END_TEST

/* Size and mtime as they were: it may be the same, restored from a backup; or not. */
START_TEST(i4_replaced_by_one_that_looks_the_same)
{
	int fd = start_partly();

	replace_hidden(7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), 0);
	expect_whole(fd, SIZE, 7);
}
END_TEST

/* Likewise where clients have written: nobody but the administrator can tell. */
START_TEST(i4_replaced_by_one_that_looks_the_same_and_written)
{
	int fd = start_partly();

	ck_assert_int_eq(core_write(&core, fd, MIB, 100, 9, true), 0);
	replace_hidden(1);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	expect_reason("clients have changed it here");
	retry(); /* mends other things, and does not mean this one */
	expect_reason("clients have changed it here");
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	retry_with(VERSION_SAME);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, MIB, 1);
	core_expect(fd, MIB, 100, 9);
	core_expect(fd, MIB + 100, SIZE - MIB - 100, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A changed ctime alone makes an error (it is all there is to see of a rewriting that restores the
 * mtime), which a retry puts right, without losing what clients wrote. */
START_TEST(i7_its_mode_was_changed)
{
	int fd = start_partly();

	ck_assert_int_eq(core_write(&core, fd, MIB, 100, 9, false), 0);
	source_mode(0600);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	expect_reason("changed on the old server");
	ck_assert_int_eq(core_range(&core, fd, MIB, 100), 0); /* what is here is here */
	retry_with(VERSION_SAME);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, MIB, 1);
	core_expect(fd, MIB, 100, 9);
	core_expect(fd, MIB + 100, SIZE - MIB - 100, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Of a client's change of mode and times a new version leaves the mode and the times. */
START_TEST(i7_a_new_version_after_a_change_of_mode)
{
	const struct timespec times[2] = {{1, 0}, {1234, 5}};
	struct stat st;
	uint64_t id;
	int fd = start_partly();

	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(fchmod(fd, 0751), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	core_source_file(&core, "f", SIZE / 3, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	retry();
	core_restart(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1234);
	ck_assert_int_eq(st.st_mode & 07777, 0751);
	expect_whole(fd, SIZE / 3, 7);
}
END_TEST

/* One that did not touch the mtime does not hide that of the new version. */
START_TEST(i8_the_mtime_of_a_new_version)
{
	struct migrate_stub stub;
	struct timespec before;
	uint64_t id;
	int fd = start_partly();

	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	ck_assert_int_eq(fchmod(fd, 0751), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	before = stub.ctime;
	migrate_stub_clear(&stub);
	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	retry();
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.mtime.tv_sec, 1100000007);
	ck_assert(stub.ctime.tv_sec > before.tv_sec ||
		  (stub.ctime.tv_sec == before.tv_sec && stub.ctime.tv_nsec > before.tv_nsec));
	migrate_stub_clear(&stub);
	expect_whole(fd, SIZE, 7);
}
END_TEST

/* No record can be stored once the size is set. */
static void fail_after_resize(const char *call, int fd, bool after)
{
	if (after && !strcmp(call, "ftruncate")) {
		core_fail_errno = EIO;
		core_fail_xattr = MIGRATE_XATTR;
	}
}

/* Bytes that were read of the old version, and are delivered when the stub is one of the new;
 * then: what the old server has when their attributes are asked for. */
static int late_reply(unsigned then, bool unstored)
{
	struct migrate_waiter *late;
	unsigned bare, stall;
	int fd = core_with_file(&core, SIZE, O_RDWR);

	bare = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ, .action = FAULT_BARE});
	stall = backend_fault_add(core.fault,
				  &(struct fault_rule){.ops = 1u << BACKEND_GETATTR,
						       .priorities = 1u << BACKEND_DEMAND,
						       .times = 1,
						       .action = FAULT_STALL});
	late = core_ask_range(&core, fd, 0, FIRST, 0);
	ck_assert(backend_fault_wait(core.fault, stall, 1)); /* its bytes have been read */
	backend_fault_remove(core.fault, bare);
	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	ck_assert_int_eq(core_wait(late), -ESTALE);
	atomic_store(&core_hook, unstored ? fail_after_resize : NULL);
	retry();
	atomic_store(&core_hook, NULL);
	core_fail_xattr = NULL;
	if (then != 7)
		core_source_file(&core, "f", SIZE, then);
	backend_fault_release(core.fault, stall);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_uint_eq(errors_count(core.retriever->errors), unstored);
	return fd;
}

START_TEST(i4_a_late_reply)
{
	expect_whole(late_reply(7, false), SIZE, 7);
}
END_TEST

START_TEST(i4_a_late_reply_where_the_record_could_not_be_stored)
{
	int fd = late_reply(7, true);

	retry();
	expect_whole(fd, SIZE, 7);
}
END_TEST

START_TEST(a_late_reply_is_no_failure)
{
	close(late_reply(8, false));
	core_free(&core);
}
END_TEST

/* What a late reply was to bring is asked for again, where somebody waits for it. */
START_TEST(a_late_reply_is_waited_for)
{
	struct migrate_waiter *late;
	unsigned stall;
	int fd = core_with_file(&core, FIRST, O_RDWR);

	core_source_file(&core, "f", FIRST, 7);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -ESTALE);
	stall = backend_fault_add(
		core.fault,
		&(struct fault_rule){.ops = 1u << BACKEND_READ, .times = 1, .action = FAULT_STALL});
	late = core_ask_range(&core, fd, 0, FIRST, 0);
	ck_assert(backend_fault_wait(core.fault, stall, 1));
	retry();
	backend_fault_release(core.fault, stall);
	ck_assert_int_eq(core_wait(late), 0);
	expect_whole(fd, FIRST, 7);
}
END_TEST

/* A search that began before the administrator took the new version, and fails after it. */
START_TEST(a_late_search_is_no_failure)
{
	struct migrate_waiter *late;
	unsigned stale, stall;
	int fd = start_partly();

	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	ck_assert(backend_fault_wait_idle(core.fault));
	stale = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
								   .action = FAULT_ERROR,
								   .status = -ESTALE});
	stall = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
								   .action = FAULT_STALL});
	late = core_ask_range(&core, fd, SIZE - 1, 1, 0);
	ck_assert(backend_fault_wait(core.fault, stall, 1));
	retry();
	backend_fault_remove(core.fault, stale);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
							   .times = 1,
							   .action = FAULT_ERROR,
							   .status = -EIO});
	backend_fault_release(core.fault, stall);
	ck_assert_int_eq(core_wait(late), 0);
	expect_whole(fd, SIZE, 7);
}
END_TEST

/* It is a directory now: an error before and after a retry, and clients can still put it right. */
START_TEST(i12_it_became_a_directory)
{
	g_autofree char *path = NULL;
	int fd = start_partly();

	path = source_path("f");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	expect_reason("gone from the old server");
	retry();
	expect_reason("not a file any more");
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	core_expect(fd, 0, FIRST, 1);
	ck_assert_int_eq(core_truncate(&core, fd, 0), 0);
	expect_whole(fd, 0, 1);
}
END_TEST

/* It is gone for good: it stays listed, clients can write it anew. */
START_TEST(i12_it_is_gone)
{
	g_autofree char *path = NULL;
	int fd = start_partly();

	path = source_path("f");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	retry();
	expect_reason("gone from the old server");
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	ck_assert_int_eq(core_write(&core, fd, 0, SIZE, 5, false), 0);
	expect_whole(fd, SIZE, 5);
}
END_TEST

/* Clients cut it to nothing while it was asked for: whatever is answered is no failure any more. */
START_TEST(i12_whole_before_the_answer)
{
	struct migrate_waiter *w;
	unsigned stall;
	int fd = core_with_file(&core, SIZE, O_RDWR);

	stall = backend_fault_add(
		core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ, .action = FAULT_STALL});
	w = core_ask_range(&core, fd, 0, FIRST, 0);
	ck_assert(backend_fault_wait(core.fault, stall, 1));
	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_truncate(&core, fd, 0), 0);
	ck_assert_int_eq(core_wait(w), 0);
	backend_fault_release(core.fault, stall);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	expect_whole(fd, 0, 1);
}
END_TEST

/* Changed there, then cut to nothing here: a retry does not ask what is there. */
START_TEST(i7_whole_before_a_retry)
{
	int fd = start_partly();

	core_source_file(&core, "f", SIZE, 7);
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	ck_assert_int_eq(core_truncate(&core, fd, 0), 0);
	retry();
	expect_whole(fd, 0, 1);
}
END_TEST

/* Renamed there, its handle good: what was fetched is fetched again, because the ctime moved. */
START_TEST(it_was_renamed)
{
	int fd = start_partly();

	in_source(rename, "f", "g");
	ck_assert_int_eq(core_range(&core, fd, SIZE - 1, 1), -ESTALE);
	retry();
	expect_whole(fd, SIZE, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("version", 60);

	tcase_add_test(tcase, i4_replaced);
	tcase_add_test(tcase, i4_replaced_by_one_that_looks_the_same);
	tcase_add_test(tcase, i4_replaced_by_one_that_looks_the_same_and_written);
	tcase_add_test(tcase, i7_its_mode_was_changed);
	tcase_add_test(tcase, i7_a_new_version_after_a_change_of_mode);
	tcase_add_test(tcase, i8_the_mtime_of_a_new_version);
	tcase_add_test(tcase, i4_a_late_reply);
	tcase_add_test(tcase, i4_a_late_reply_where_the_record_could_not_be_stored);
	tcase_add_test(tcase, a_late_reply_is_no_failure);
	tcase_add_test(tcase, a_late_reply_is_waited_for);
	tcase_add_test(tcase, a_late_search_is_no_failure);
	tcase_add_test(tcase, i12_it_became_a_directory);
	tcase_add_test(tcase, i12_it_is_gone);
	tcase_add_test(tcase, i12_whole_before_the_answer);
	tcase_add_test(tcase, i7_whole_before_a_retry);
	tcase_add_test(tcase, it_was_renamed);
	return run_tcase(tcase);
}
