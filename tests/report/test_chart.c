/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>

#include "made.h"
#include "report/chart.h"

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

int main(void)
{
	const TTest *const tests[] = {lines, nothing, NULL};

	return run_made("chart", tests);
}
