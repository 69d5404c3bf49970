/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/durable.h"
#include "tests/pairs.h"

#include "lib/report/losses.h"
#include "retriever/names/skip_names.h"

static bool takes(struct skip_names *skip, int fd, const char *name)
{
	return skip_names_takes(skip, fd, name, *name == '/' ? name + 1 : name, QM_NAME_IMPOSSIBLE);
}

START_TEST(i12_only_what_was_said)
{
	struct skip_names *some = skip_names_new(false), *all = skip_names_new(true);
	int fd;

	core_make(&core);
	fd = core_root(&core);
	skip_names_add(some, "a");
	skip_names_add(some, "/bad");
	ck_assert(takes(some, fd, "a") && takes(some, fd, "/bad"));
	ck_assert(takes(some, fd, "a")); /* once */
	ck_assert(!takes(some, fd, "b") && !takes(some, fd, "/other"));
	ck_assert(!skip_names_takes_untold(some, fd, 5));
	ck_assert_uint_eq(skip_names_count(some), 2);
	ck_assert(takes(all, fd, "/other")); /* nothing can have that name here */
	ck_assert(!takes(all, fd, "b"));
	ck_assert(skip_names_takes_untold(all, fd, 5));
	ck_assert_uint_eq(skip_names_count(all), 6);
	skip_names_reset(all);
	ck_assert_uint_eq(skip_names_count(all), 0);
	ck_assert(!takes(NULL, fd, "/bad") && !skip_names_takes_untold(NULL, fd, 1));
	ck_assert_uint_eq(skip_names_count(NULL), 0);
	skip_names_unref(skip_names_ref(some));
	ck_assert_uint_eq(skip_names_count(some), 2);
	skip_names_unref(some);
	skip_names_unref(all);
	skip_names_unref(NULL);
	core_free_with(&core, fd);
}
END_TEST

static int root_fd;

static void take_some(void *skip)
{
	takes(skip, root_fd, "/bad");
}

static void take_untold(void *skip)
{
	skip_names_takes_untold(skip, root_fd, 5);
}

static void record_all(void *skip)
{
	skip_names_record(skip, core.retriever, "before");
}

static void count_all(void *skip)
{
	skip_names_count(skip);
}

static void reset_all(void *skip)
{
	skip_names_reset(skip);
}

START_TEST(several_threads)
{
	struct skip_names *skip = skip_names_new(true);
	struct paired_call calls[] = {{take_some, skip},
				      {take_untold, skip},
				      {record_all, skip},
				      {count_all, skip},
				      {reset_all, skip}};

	core_make(&core);
	core_start(&core);
	root_fd = core_root(&core);
	call_in_pairs(calls, G_N_ELEMENTS(calls));
	skip_names_unref(skip);
	core_free_with(&core, root_fd);
}
END_TEST

/* What is left out is in the report; what cannot be put there is an error. */
START_TEST(i12_written_down)
{
	struct skip_names *skip = skip_names_new(true);
	g_autofree char *path = NULL, *text = NULL, *line = NULL, *more = NULL;
	int fd;

	core_make(&core);
	core_start(&core);
	fd = core_root(&core);
	ck_assert_int_eq(skip_names_record(skip, core.retriever, NULL), 0);
	ck_assert_uint_eq(losses_names(core.retriever->losses), 0);
	ck_assert(takes(skip, fd, "/bad") && skip_names_takes_untold(skip, fd, 5));
	ck_assert(skip_names_takes(skip, fd, "/self", "self", QM_DIRECTORY_LOOP));
	losses_set_directory(core.retriever->losses, -1);
	ck_assert_int_lt(skip_names_record(skip, core.retriever, NULL), 0);
	losses_set_directory(core.retriever->losses, core.retriever->private_fd);
	ck_assert_int_eq(skip_names_record(skip, core.retriever, "before"), 0);
	path = core_path(&core, MIGRATE_PRIVATE_DIR "/" LOSSES_FILE);
	ck_assert_durable(path);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	line = g_strconcat("name\t", core.root, "/bad\tno file here can have this name [QM1001]\n",
			   NULL);
	more = g_strconcat("name\t", core.root, "\t5 more names", NULL);
	ck_assert_ptr_nonnull(strstr(text, line));
	ck_assert_ptr_nonnull(
		strstr(text, "/self\tit is one of the directories that it is in [QM1016]\n"));
	ck_assert_ptr_nonnull(strstr(text, more));
	ck_assert_ptr_nonnull(strstr(text, "/before\t5 more names")); /* where it was there */
	skip_names_unref(skip);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("given up", 60);

	tcase_add_test(tcase, i12_only_what_was_said);
	tcase_add_test(tcase, i12_written_down);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
