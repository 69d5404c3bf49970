/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/html.h"
#include "tests/ctl/report/made.h"

START_TEST(text)
{
	g_autoptr(GString) html = g_string_new(NULL);

	html_begin(html, "Of ", "<b>");
	html_fact(html, "name", HOSTILE);
	html_number(html, "things", 7);
	html_add(html, "<i>%s</i>", "<i>");
	ck_assert_ptr_null(strstr(html->str, "<b>"));
	ck_assert_ptr_null(strchr(html->str, '\x1b'));
	ck_assert_ptr_nonnull(strstr(html->str, "<h1>Of &lt;b&gt;</h1>"));
	ck_assert_ptr_nonnull(strstr(html->str, "<i>&lt;i&gt;</i>"));
	ck_assert_ptr_nonnull(strstr(html->str, ">7</td><td>things</td>"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {text, NULL};

	return run_made("html", tests);
}
