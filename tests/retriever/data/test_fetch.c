/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/data/fetch.h"
#include "retriever/objects/errors.h"

#define READS (1u << BACKEND_READ)

static struct core core;

static void stall_reads(struct fault_rule rule, unsigned *number)
{
	rule.ops = READS;
	rule.action = FAULT_STALL;
	*number = backend_fault_add(core.fault, &rule);
}

START_TEST(brings_what_was_asked_for)
{
	int fd;

	fd = core_with_file(&core, 3 * MIB + 17, O_RDONLY);
	ck_assert(!core_present(fd, 0, 1));
	ck_assert_int_eq(core_range(&core, fd, 5, 10), 0);
	core_expect(fd, 5, 10, 1);
	ck_assert_int_eq(core_range(&core, fd, 0, 0), 0);
	ck_assert_int_eq(core_range(&core, fd, 2 * MIB, UINT64_MAX), 0);
	core_expect(fd, 2 * MIB, MIB + 17, 1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 3 * MIB + 17, 1);
	ck_assert_int_eq(core_range(&core, fd, 100 * MIB, 5), 0);
	core_free_with(&core, fd);
}
END_TEST

/* More than is planned at a time: it goes on by itself (a waiter with nothing in flight would wait
 * for ever). */
START_TEST(a_large_file_comes_to_its_end)
{
	g_autofree char *path = NULL;
	struct migrate_waiter *a, *b;
	int source, fd;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	path = g_strconcat(core.source, "/f", NULL);
	source = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(source, 70 * MIB), 0);
	ck_assert_int_eq(pwrite(source, "x", 1, 70 * MIB - 1), 1);
	close(source);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	a = core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND);
	b = core_ask_range(&core, fd, 40 * MIB, UINT64_MAX, 0);
	ck_assert_int_eq(core_wait(a), 0);
	ck_assert_int_eq(core_wait(b), 0);
	core_expect(fd, 0, 100, 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(demands_join_demands)
{
	struct migrate_waiter *w[8];
	unsigned rule;
	int fd;

	fd = core_with_file(&core, 64 * KIB, O_RDONLY);
	stall_reads((struct fault_rule){0}, &rule);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++)
		w[i] = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(core_name_in(&core, fd, "x"), -ENOTDIR); /* all of them were seen */
	backend_fault_release(core.fault, rule);
	for (unsigned i = 0; i < G_N_ELEMENTS(w); i++)
		ck_assert_int_eq(core_wait(w[i]), 0);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 1);
	core_free_with(&core, fd);
}
END_TEST

/* I11 */
START_TEST(i11_a_demand_does_not_wait_for_a_background_read)
{
	struct migrate_waiter *background;
	unsigned rule;
	int fd;

	fd = core_with_file(&core, 64 * KIB, O_RDONLY);
	stall_reads((struct fault_rule){.priorities = 1u << BACKEND_BACKGROUND}, &rule);
	background = core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 64 * KIB, 1);
	ck_assert_int_eq(core_wait(background), 0);		   /* what it waited for is here */
	ck_assert_uint_ge(backend_fault_in_flight(core.fault), 1); /* its own read still stalls */
	backend_fault_release(core.fault, rule);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(short_replies_are_completed)
{
	const struct fault_rule rule = {.ops = READS, .action = FAULT_SHORT, .bytes = 1000};
	int fd;

	core_make(&core);
	core_source_file(&core, "f", 64 * KIB + 1, 1);
	core_start(&core);
	backend_fault_add(core.fault, &rule);
	fd = core_find(&core, "f", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 64 * KIB + 1, 1);
	ck_assert_uint_ge(backend_fault_submitted(core.fault, READS), 66);
	core_free_with(&core, fd);
}
END_TEST

/* The old server answers READ without attributes: they are asked for, once per reply. */
START_TEST(replies_without_attributes)
{
	unsigned asked;
	int fd;

	fd = core_with_file(&core, 10000, O_RDONLY);
	asked = backend_fault_submitted(core.fault, 1u << BACKEND_GETATTR); /* by attach */
	backend_fault_add(core.fault, &(struct fault_rule){.ops = READS, .action = FAULT_BARE});
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, READS), 1);
	ck_assert_uint_eq(backend_fault_submitted(core.fault, 1u << BACKEND_GETATTR), asked + 1);
	core_free_with(&core, fd);
}
END_TEST

/* I4, I10: nothing of a file that was changed on the old server is ever served. */
START_TEST(i4_a_changed_source_is_an_error)
{
	int fd;

	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_source_file(&core, "shrunk", 10000, 2);
	core_source_file(&core, "gone", 10000, 3);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	core_source_file(&core, "f", 10000, 7);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -ESTALE);
	core_expect_zeros(fd, 0, 10000);
	ck_assert(!core_present(fd, 0, 1));
	close(fd);
	fd = core_find(&core, "shrunk", O_RDONLY);
	core_source_file(&core, "shrunk", 10, 2);
	ck_assert_int_eq(core_range(&core, fd, 5000, 1), -ESTALE);
	ck_assert(!core_present(fd, 0, 1));
	close(fd);
	fd = core_find(&core, "gone", O_RDONLY);
	{
		g_autofree char *path = g_strconcat(core.source, "/gone", NULL);

		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(core_range(&core, fd, 5000, 1), -ESTALE);
	ck_assert(!core_present(fd, 0, 1));
	core_free_with(&core, fd);
}
END_TEST

START_TEST(an_error_fails_who_waits_and_is_not_for_ever)
{
	const struct fault_rule rule = {
		.ops = READS, .action = FAULT_ERROR, .status = -EREMOTEIO, .times = 1};
	const struct fault_rule refused = {
		.ops = READS, .action = FAULT_ERROR, .status = -EACCES, .times = 1};
	struct migrate_stub stub;
	int fd;

	fd = core_with_file(&core, 10000, O_RDONLY);
	backend_fault_add(core.fault, &refused);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -EREMOTEIO); /* of migrate.h's set */
	backend_fault_add(core.fault, &rule);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), -EREMOTEIO);
	ck_assert_int_eq(migrate_stub_load(fd, &stub), 0);
	ck_assert_int_eq(stub.error, EREMOTEIO);
	migrate_stub_clear(&stub);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	core_expect(fd, 0, 10000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* A part that cannot be read fails who waits for it; the rest comes, and who asked for all in the
 * background has the rest, and is told. */
START_TEST(i12_a_bad_spot)
{
	const struct fault_rule bad = {.ops = READS,
				       .action = FAULT_ERROR,
				       .status = -EREMOTEIO,
				       .offset = 5 * MIB + 5,
				       .end = 5 * MIB + 6};
	struct migrate_waiter *beside, *across, *all;
	unsigned rule;
	int fd;

	fd = core_with_file(&core, 12 * MIB, O_RDONLY);
	rule = backend_fault_add(core.fault, &bad);
	across = core_ask_range(&core, fd, 4 * MIB, 2 * MIB, 0);
	beside = core_ask_range(&core, fd, 6 * MIB, 100, 0);
	ck_assert_int_eq(core_wait(across), -EREMOTEIO);
	ck_assert_int_eq(core_wait(beside), 0);
	core_expect(fd, 6 * MIB, 100, 1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	all = core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND);
	ck_assert_int_eq(core_wait(all), -EREMOTEIO);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_int_eq(core_range(&core, fd, 0, 5 * MIB), 0);
	ck_assert_int_eq(core_range(&core, fd, 6 * MIB, UINT64_MAX), 0);
	core_expect(fd, 0, 5 * MIB, 1);
	core_expect(fd, 6 * MIB, 6 * MIB, 1);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_le(core_missing(fd), MIB);
	ck_assert_uint_gt(core_missing(fd), 0);
	backend_fault_remove(core.fault, rule);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 12 * MIB, 1);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A file that is planned in parts: of these, READs at [offset, end) fail.  What is missing after it
 * was asked for in the background. */
static uint64_t left_of_a_large_file(uint64_t size, uint64_t offset, uint64_t end)
{
	g_autofree char *path = NULL;
	uint64_t left;
	int fd;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	path = g_strconcat(core.source, "/f", NULL);
	ck_assert_int_eq(truncate(path, size), 0);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = READS,
							   .action = FAULT_ERROR,
							   .status = -EREMOTEIO,
							   .offset = offset,
							   .end = end});
	ck_assert_int_eq(core_wait(core_ask_range(&core, fd, 0, UINT64_MAX, MIGRATE_BACKGROUND)),
			 -EREMOTEIO);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	left = core_missing(fd);
	close(fd);
	return left;
}

START_TEST(i12_what_is_behind_a_bad_spot_comes)
{
	uint64_t left = left_of_a_large_file(200 * MIB, 5 * MIB, 5 * MIB + 1);

	ck_assert_uint_gt(left, 0);
	ck_assert_uint_le(left, MIB);
	core_free(&core);
}
END_TEST

/* All of it is bad: told before every part of it was tried. */
START_TEST(a_bad_file)
{
	ck_assert_uint_eq(left_of_a_large_file(1024 * MIB, 0, 0), 1024 * MIB);
	ck_assert_uint_lt(backend_fault_submitted(core.fault, READS), 200);
	core_free(&core);
}
END_TEST

/* A source that shrinks while it is read: replies become short, then empty. */
START_TEST(i4_replies_that_shrink)
{
	const struct fault_rule none = {.ops = READS,
					.action = FAULT_SHORT,
					.offset = 40000,
					.end = 40001,
					.bytes = 0,
					.skip = 1};
	const struct fault_rule some = {
		.ops = READS, .action = FAULT_SHORT, .offset = 40000, .end = 40001, .bytes = 40000};
	int fd = core_with_file(&core, 64 * KIB, O_RDONLY);

	backend_fault_add(core.fault, &none);
	backend_fault_add(core.fault, &some);
	ck_assert_int_eq(core_range(&core, fd, 50000, 100), -EBADMSG);
	ck_assert_int_eq(core_range(&core, fd, 0, 40000), 0); /* as far as it came */
	core_expect(fd, 0, 40000, 1);
	ck_assert(!core_present(fd, 40000, 1));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(busy_is_asked_again)
{
	const struct fault_rule rule = {
		.ops = READS, .action = FAULT_ERROR, .status = -EAGAIN, .times = 3};
	int fd;

	fd = core_with_file(&core, 10000, O_RDONLY);
	backend_fault_add(core.fault, &rule);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Listed until a part of it comes; who waits for another part is not told. */
START_TEST(i12_put_off)
{
	const struct fault_rule rule = {
		.ops = READS, .action = FAULT_ERROR, .status = -EAGAIN, .end = 1};
	struct migrate_waiter *late;
	unsigned n;
	int fd;

	fd = core_with_file(&core, 4 * MIB, O_RDONLY);
	n = backend_fault_add(core.fault, &rule);
	late = core_ask_range(&core, fd, 0, 1, 0);
	ck_assert_int_eq(core_range(&core, fd, 2 * MIB, 1), 0);
	ck_assert_int_eq(core_wait(late), -EAGAIN);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	backend_fault_remove(core.fault, n);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	ck_assert_uint_gt(core_missing(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A handle goes stale while many reads are in flight: they all come, though their answers come one
 * by one after the object was found again. */
START_TEST(stale_reads_in_flight)
{
	unsigned stall, stale;
	struct migrate_waiter *w;
	int fd;

	fd = core_with_file(&core, 8 * MIB, O_RDONLY);
	stale = backend_fault_add(core.fault, &(struct fault_rule){.ops = READS,
								   .action = FAULT_ERROR,
								   .status = -ESTALE,
								   .times = 3});
	stall_reads((struct fault_rule){.times = 5}, &stall);
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, stale, 3));
	backend_fault_release(core.fault, stall);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 8 * MIB, 1);
	core_free_with(&core, fd);
}
END_TEST

/* Zeros stay holes. */
START_TEST(zeros_stay_holes)
{
	g_autofree char *path = NULL;
	struct stat st;
	int source, fd;

	core_make(&core);
	core_source_file(&core, "f", 8192, 1);
	path = g_strconcat(core.source, "/f", NULL);
	source = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(ftruncate(source, 4 * MIB), 0);
	close(source);
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_sync(&core, fd), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_le(st.st_blocks, 64);
	core_expect(fd, 0, 8192, 1);
	core_expect_zeros(fd, 8192, 4096);
	core_free_with(&core, fd);
}
END_TEST

/* I7: bytes that a client writes while a read of the old ones is in flight stay. */
START_TEST(i7_a_write_during_a_read)
{
	struct migrate_waiter *w;
	unsigned rule;
	int fd;

	fd = core_with_file(&core, 64 * KIB, O_RDWR);
	stall_reads((struct fault_rule){0}, &rule);
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(core_write(&core, fd, 10000, 5000, 9, false), 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 10000, 1);
	core_expect(fd, 10000, 5000, 9);
	core_expect(fd, 15000, 64 * KIB - 15000, 1);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("transfer", 60);

	tcase_add_test(tcase, brings_what_was_asked_for);
	tcase_add_test(tcase, a_large_file_comes_to_its_end);
	tcase_add_test(tcase, demands_join_demands);
	tcase_add_test(tcase, i11_a_demand_does_not_wait_for_a_background_read);
	tcase_add_test(tcase, short_replies_are_completed);
	tcase_add_test(tcase, replies_without_attributes);
	tcase_add_test(tcase, i4_a_changed_source_is_an_error);
	tcase_add_test(tcase, an_error_fails_who_waits_and_is_not_for_ever);
	tcase_add_test(tcase, i12_a_bad_spot);
	tcase_add_test(tcase, i12_what_is_behind_a_bad_spot_comes);
	tcase_add_test(tcase, a_bad_file);
	tcase_add_test(tcase, i4_replies_that_shrink);
	tcase_add_test(tcase, busy_is_asked_again);
	tcase_add_test(tcase, i12_put_off);
	tcase_add_test(tcase, stale_reads_in_flight);
	tcase_add_test(tcase, zeros_stay_holes);
	tcase_add_test(tcase, i7_a_write_during_a_read);
	return run_tcase(tcase);
}
