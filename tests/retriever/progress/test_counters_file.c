/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

static struct core core;

/* Saved at a clean end they are exact afterwards, where they were. */
START_TEST(a_clean_end)
{
	for (int exact = 1; exact >= 0; exact--) {
		core_make(&core);
		core_open(&core);
		core_attach(&core);
		COUNT_SET(core.retriever, files_found, 7);
		COUNT_SET(core.retriever, acls_carried, 5);
		COUNT_SET(core.retriever, xattrs_carried, (gint64)1 << 40);
		COUNT_SET(core.retriever, exact, exact);
		counters_save(core.retriever, true);
		counters_reset(core.retriever);
		ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 0);
		ck_assert_int_eq(COUNT_GET(core.retriever, xattrs_carried), 0);
		counters_load(core.retriever);
		ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 7);
		ck_assert_int_eq(COUNT_GET(core.retriever, acls_carried), 5);
		ck_assert_int_eq(COUNT_GET(core.retriever, xattrs_carried), (gint64)1 << 40);
		ck_assert_int_eq(COUNT_GET(core.retriever, exact), exact);
		core_free(&core);
	}
}
END_TEST

/* In between they are not, whatever they were. */
START_TEST(no_clean_end)
{
	core_make(&core);
	core_open(&core);
	core_attach(&core);
	COUNT_SET(core.retriever, files_found, 7);
	COUNT_SET(core.retriever, exact, 1);
	counters_save(core.retriever, false);
	counters_load(core.retriever);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 7);
	ck_assert_int_eq(COUNT_GET(core.retriever, exact), 0);
	core_free(&core);
}
END_TEST

/* The counters are the walk's, also after a kill. */
START_TEST(counters_after_a_kill)
{
	struct migrate_waiter *w;
	int d;

	core_make(&core);
	core_source_file(&core, "d/x", 100, 3);
	core_source_file(&core, "e/x", 100, 4);
	core_supervise(&core, 0);
	core_connect(&core);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	w = core_ask_fill(&core, d, 0);
	ck_assert_int_eq(core_wait(w), 0);
	core_disconnect(&core);
	core_end_supervision(&core);
	core_open(&core);
	{
		struct verify_count count;
		g_autofree char *message = NULL;

		ck_assert_int_eq(verify_volume(core.retriever, true, &count, &message), 0);
		g_free(count.first);
		ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 1);
		ck_assert_int_eq(COUNT_GET(core.retriever, directories_found), 2);
		ck_assert_int_eq(COUNT_GET(core.retriever, unfilled), 1);
	}
	core_free_with(&core, d);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("saved counters", 60);

	tcase_add_test(tcase, a_clean_end);
	tcase_add_test(tcase, no_clean_end);
	tcase_add_test(tcase, counters_after_a_kill);
	return run_tcase(tcase);
}
