/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_hook.h"

static struct core core;

static void verify(struct verify_count *count)
{
	g_autofree char *message = NULL;

	ck_assert_int_eq(verify_volume(core.retriever, count, &message), 0);
	g_clear_pointer(&count->first, g_free);
}

/* I12: the walk finds what is unfinished below directories that say they are normal, too. */
START_TEST(i12_below_normal_directories)
{
	struct verify_count count;
	g_autofree char *message = NULL;
	int d, file, root;

	core_make(&core);
	core_source_file(&core, "d/e/f", 1000, 1);
	core_start(&core);
	root = core_root(&core);
	file = core_find(&core, "d/e/f", O_RDONLY);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, 0)), 0);
	core_restart(&core);
	ck_assert_int_eq(migrate_record_drop(root), 0); /* by hand: I5 is broken */
	ck_assert_int_eq(migrate_record_drop(d), 0);
	verify(&count);
	ck_assert_uint_eq(count.unfinished, 2); /* e and f */
	ck_assert_int_eq(count.directories_whole, 0);
	ck_assert_int_eq(finalize_volume(core.retriever, &message), -EBUSY);
	ck_assert_int_eq(migrate_has_record(d), 1); /* so that a crawler finds it */
	ck_assert_int_eq(migrate_has_record(root), 1);
	close(d);
	close(file);
	close(root);
	core_free(&core);
}
END_TEST

START_TEST(the_counters_are_set)
{
	g_autofree char *one = NULL, *two = NULL;
	struct verify_count count;
	int root;

	core_make(&core);
	core_source_file(&core, "a", 1000, 1);
	core_source_file(&core, "b", 2000, 1);
	core_source_file(&core, "sub/c", 2000, 1);
	one = g_strconcat(core.source, "/a", NULL);
	two = g_strconcat(core.source, "/a2", NULL);
	ck_assert_int_eq(link(one, two), 0);
	core_start(&core);
	root = core_root(&core);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	COUNT_SET(core.retriever, files_found, 77);
	verify(&count);
	ck_assert_int_eq(count.files, 2); /* one of them has two names */
	ck_assert_int_eq(count.directories, 2);
	ck_assert_int_eq(count.unfilled, 1);
	ck_assert_int_eq(count.bytes, 3000);
	ck_assert_int_eq(count.bytes_whole, 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 2);
	ck_assert_int_eq(COUNT_GET(core.retriever, exact), 1);
	close(root);
	core_free(&core);
}
END_TEST

START_TEST(gives_up_when_closing)
{
	struct verify_count count;
	g_autofree char *message = NULL;

	core_make(&core);
	core_source_file(&core, "a", 1000, 1);
	core_open(&core);
	core_attach(&core);
	g_atomic_int_set(&core.retriever->closing, 1);
	ck_assert_int_eq(verify_volume(core.retriever, &count, &message), -ECANCELED);
	g_free(count.first);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify");
	TCase *tcase = CORE_TCASE(suite, "verify", 60);

	tcase_add_test(tcase, i12_below_normal_directories);
	tcase_add_test(tcase, the_counters_are_set);
	tcase_add_test(tcase, gives_up_when_closing);
	return run_suite(suite);
}
