/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/page.h"
#include "tests/ctl/report/made.h"

/* What comes from the old server is text, whatever it is; nothing is loaded from anywhere. */
START_TEST(hostile)
{
	static const char *const never[] = {"<script", "<img",	 "<b>",	 "<v>",	 "src=\"", "href",
					    "http:",   "https:", "url(", "\x1b", "\xff"};
	struct final *final = made_final();
	g_autofree char *page = NULL;

	for (unsigned i = 0; i < FINAL_KINDS; i++)
		final_add(final, i, HOSTILE, HOSTILE);
	g_free(final->state);
	final->state = g_strdup(HOSTILE);
	final->comparison.any = true;
	final->comparison.status[0] = 4711;
	page = final_page(final);
	ck_assert_ptr_nonnull(strstr(page, "What verify --content has found"));
	ck_assert_ptr_nonnull(strstr(page, "4711"));
	for (unsigned i = 0; i < G_N_ELEMENTS(never); i++)
		ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
	ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
	ck_assert_ptr_nonnull(strstr(page, "<svg"));
	ck_assert_ptr_nonnull(strstr(page, "default-src 'none'"));
	final_free(final);
}
END_TEST

/* The first lines, and how many more there are. */
START_TEST(long_lists)
{
	struct final *final = made_final();
	g_autofree char *page = NULL;

	for (unsigned i = 0; i < FINAL_SHOWN + 23; i++)
		final_add(final, FINAL_DIFFERENT, "x", "y");
	page = final_page(final);
	ck_assert_ptr_nonnull(strstr(page, "And 23 more"));
	ck_assert_ptr_nonnull(strstr(page, "do NOT add up") ? page : strstr(page, "add up"));
	final_free(final);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {hostile, long_lists, NULL};

	return run_made("page", tests);
}
