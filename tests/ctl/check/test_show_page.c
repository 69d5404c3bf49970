/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/show.h"
#include "tests/ctl/check/whole.h"

/* What comes from the old server is text; nothing is loaded from anywhere. */
START_TEST(hostile)
{
	static const char *const never[] = {"<script", "<img", "src=\"", "href",
					    "http:",   "url(", "\x1b",	 "\xff"};
	struct survey survey;
	g_autofree char *page = NULL;

	whole_begin(&survey);
	whole_lose(&survey);
	page = show_page(&survey);
	for (unsigned i = 0; i < G_N_ELEMENTS(never); i++)
		ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
	ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
	ck_assert_ptr_nonnull(strstr(page, "<svg"));
	ck_assert_ptr_nonnull(strstr(page, "default-src 'none'"));
	for (unsigned i = 0; i < LOSS_KINDS; i++)
		ck_assert_msg(strstr(page, loss_title(i)) != NULL, "%s", loss_title(i));
	survey_clear(&survey);
}
END_TEST

START_TEST(long_lists)
{
	struct survey survey;
	g_autofree char *page = NULL;

	whole_begin(&survey);
	for (unsigned i = 0; i < 101; i++)
		losses_add(survey.losses, LOSS_ACL, "x", "y");
	page = show_page(&survey);
	ck_assert_ptr_nonnull(strstr(page, "And more"));
	survey_clear(&survey);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {hostile, long_lists, NULL};

	return run_made("show_page", tests);
}
