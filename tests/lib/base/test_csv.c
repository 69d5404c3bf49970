/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/base/csv.h"
#include "tests/suite.h"

/* The row as "LINE:CELL|CELL", or "LINE!" if it is none; "": there is no row.  g_free. */
static char *next_row(struct csv *csv)
{
	GString *text = g_string_new(NULL);

	if (!csv_read(csv))
		return g_string_free(text, FALSE);
	g_string_printf(text, "%u%s", csv->line, csv->wrong ? "!" : ":");
	for (guint i = 0; i < csv->cells->len && !csv->wrong; i++)
		g_string_append_printf(text, "%s%s", i ? "|" : "", (char *)csv->cells->pdata[i]);
	return g_string_free(text, FALSE);
}

START_TEST(rows)
{
	static const struct {
		const char *text, *rows[4];
	} cases[] = {
		{"", {""}},
		{"\n\r\n\n", {""}},
		{"a,b\r\nc,d", {"1:a|b", "2:c|d", ""}},
		{"\357\273\277a\n", {"1:a", ""}},
		{",\n\n,,\n", {"1:|", "3:||", ""}},
		{"\"a\",\"\"\n", {"1:a|", ""}},
		{"\"a,\"\"b\"\"\r\nc\",d\ne\n", {"1:a,\"b\"\r\nc|d", "3:e", ""}},
		{"\"\"\"\"\n", {"1:\"", ""}},
		/* what is wrong takes its line along, and no other */
		{"a\"b,c\nd\n", {"1!", "2:d", ""}},
		{"\"a\"b\nd\n", {"1!", "2:d", ""}},
		{"x,\"a\nb\nc", {"1!", "2:b", "3:c", ""}},
		{"\"", {"1!", ""}},
		{"\"a\"\"", {"1!", ""}},
		{"a\rb\nc", {"1!", "2:c", ""}},
		{"a\r", {"1!", ""}},
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct csv csv;

		csv_init(&csv, cases[i].text);
		for (unsigned j = 0; j < 4 && cases[i].rows[j]; j++) {
			g_autofree char *row = next_row(&csv);

			ck_assert_msg(!strcmp(row, cases[i].rows[j]), "%u: %s", i, row);
		}
		csv_clear(&csv);
	}
}
END_TEST

/* What is written is read again as it was. */
START_TEST(written)
{
	static const char *const cells[] = {"", "a", "a,b", "\"", "a\nb", "\"\",\r\n", " x "};
	g_autoptr(GString) text = g_string_new(NULL);
	struct csv csv;

	for (unsigned row = 0; row < 2; row++) {
		for (unsigned i = 0; i < G_N_ELEMENTS(cells); i++)
			csv_append(text, cells[(i + 1) % G_N_ELEMENTS(cells)]);
		g_string_append_c(text, '\n');
	}
	csv_init(&csv, text->str);
	for (unsigned row = 0; row < 2; row++) {
		ck_assert(csv_read(&csv) && !csv.wrong);
		ck_assert_uint_eq(csv.cells->len, G_N_ELEMENTS(cells));
		for (unsigned i = 0; i < G_N_ELEMENTS(cells); i++)
			ck_assert_str_eq(csv.cells->pdata[i], cells[(i + 1) % G_N_ELEMENTS(cells)]);
	}
	ck_assert(!csv_read(&csv));
	csv_clear(&csv);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("csv");

	tcase_add_test(tcase, rows);
	tcase_add_test(tcase, written);
	return run_tcase(tcase);
}
