/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>

#include "ctl/report/chart.h"
#include "tests/ctl/report/made.h"

/* Lines from the left to the right, whatever the numbers and the language. */
START_TEST(lines)
{
	static const struct history_point points[] = {
		{1000, 5, 0, 0, 0},
		{1000, 5, 2, 0, 0},
		{5000, G_MAXINT64, 4, 0, 0},
	};
	struct history *history = history_new();

	setlocale(LC_ALL, "de_DE.UTF-8");
	for (unsigned n = 0; n <= G_N_ELEMENTS(points); n++) {
		GString *html = g_string_new(NULL);

		g_array_set_size(history->points, 0);
		g_array_append_vals(history->points, points, n);
		chart_append(html, history, false);
		chart_append(html, history, true);
		ck_assert_int_eq(strstr(html->str, "<svg") != NULL, n >= 2);
		ck_assert_ptr_null(strstr(html->str, "nan"));
		ck_assert_ptr_null(strstr(html->str, "inf"));
		if (n == 3)
			ck_assert_ptr_nonnull(strstr(html->str, "0.0,220.0 0.0,220.0 800.0,20.0"));
		g_string_free(html, TRUE);
	}
	history_free(history);
}
END_TEST

START_TEST(nothing)
{
	GString *html = g_string_new(NULL);

	chart_append(html, NULL, true);
	ck_assert_ptr_nonnull(strstr(html->str, "no record"));
	g_string_free(html, TRUE);
}
END_TEST

/* As long as their values, whatever the language; none of nothing. */
START_TEST(bars)
{
	struct chart_bar some[] = {{"<one>", 1, g_strdup("1")}, {"four", 4, g_strdup("<4>")}};
	struct chart_bar none[] = {{"zero", 0, g_strdup("0")}};
	g_autoptr(GString) html = g_string_new(NULL);

	setlocale(LC_ALL, "de_DE.UTF-8");
	chart_bars(html, "bars", some, G_N_ELEMENTS(some));
	ck_assert_ptr_nonnull(strstr(html->str, "width=\"460.0\""));
	ck_assert_ptr_nonnull(strstr(html->str, "width=\"115.0\""));
	ck_assert_ptr_nonnull(strstr(html->str, "&lt;one&gt;"));
	ck_assert_ptr_nonnull(strstr(html->str, "&lt;4&gt;"));
	g_string_truncate(html, 0);
	chart_bars(html, "bars", none, G_N_ELEMENTS(none));
	ck_assert_str_eq(html->str, "<p>There are none.</p>\n");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {lines, nothing, bars, NULL};

	return run_made("chart", tests);
}
