/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_hook.h"

#include "volume/errors.h"
#include "ways/refind.h"

static struct core core;

static unsigned stale_reads(unsigned times)
{
	return backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
								  .action = FAULT_ERROR,
								  .status = -ESTALE,
								  .times = times});
}

static int start(void)
{
	core_make(&core);
	core_source_file(&core, "d/f", 10000, 1);
	core_start(&core);
	return core_find(&core, "d/f", O_RDWR);
}

START_TEST(found_in_its_place)
{
	int fd = start();

	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	close(fd);
	core_free(&core);
}
END_TEST

static void rename_in_source(const char *from, const char *to)
{
	g_autofree char *a = g_strconcat(core.source, "/", from, NULL);
	g_autofree char *b = g_strconcat(core.source, "/", to, NULL);

	ck_assert_int_eq(rename(a, b), 0);
}

/* Renamed on the old server within its directory: found by its fileid. */
START_TEST(found_by_its_fileid)
{
	int fd = start();

	rename_in_source("d/f", "d/g");
	stale_reads(1);
	/* a rename changes the ctime, which is the price of looking at it on every READ: taken over
	 * when the object is found again */
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	close(fd);
	core_free(&core);
}
END_TEST

/* Renamed here, by a client: the record has the path it has there. */
START_TEST(found_after_a_rename_here)
{
	uint64_t id;
	int dir, root, fd = start();

	root = core_root(&core);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, dir, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_begin(&core, fd, root, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(renameat(dir, "f", root, "other"), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	core_restart(&core);
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	close(dir);
	close(root);
	close(fd);
	core_free(&core);
}
END_TEST

/* Another file of that name is not it. */
START_TEST(i4_another_file_of_that_name)
{
	int fd = start();

	rename_in_source("d/f", "elsewhere");
	core_source_file(&core, "d/f", 10000, 7);
	stale_reads(1);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	ck_assert(!core_present(fd, 0, 1));
	core_expect_zeros(fd, 0, 10000);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	close(fd);
	core_free(&core);
}
END_TEST

/* A handle that is always stale ends in an error, not in a loop. */
START_TEST(stale_for_ever)
{
	int fd = start();

	stale_reads(0);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	close(fd);
	core_free(&core);
}
END_TEST

/* A name in a directory whose handle is stale: later, then found. */
START_TEST(a_name_below_a_stale_directory)
{
	int ret, dir, fd = start();

	core_source_file(&core, "d/g", 100, 2);
	dir = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
							   .name = "g",
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .times = 1});
	do
		ret = core_name_in(&core, dir, "g");
	while (ret == -EAGAIN);
	ck_assert_int_eq(ret, 0);
	close(dir);
	close(fd);
	core_free(&core);
}
END_TEST

/* The old server is away while it is looked for: no error, and a close does not wait. */
START_TEST(looked_for_without_an_answer)
{
	struct migrate_waiter *w;
	unsigned lookups;
	int fd = start();

	stale_reads(1);
	lookups = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
								     .action = FAULT_STALL});
	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, lookups, 1));
	core_restart(&core);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 10000, 1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(fd);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refind");
	TCase *tcase = CORE_TCASE(suite, "refind", 60);

	tcase_add_test(tcase, found_in_its_place);
	tcase_add_test(tcase, found_by_its_fileid);
	tcase_add_test(tcase, found_after_a_rename_here);
	tcase_add_test(tcase, i4_another_file_of_that_name);
	tcase_add_test(tcase, stale_for_ever);
	tcase_add_test(tcase, a_name_below_a_stale_directory);
	tcase_add_test(tcase, looked_for_without_an_answer);
	return run_suite(suite);
}
