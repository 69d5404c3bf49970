/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/terminal.h"
#include "tests/suite.h"

#define ROWS 40

/* A terminal of so many columns that knows what is sent here: a wide character has two cells. */
static struct {
	unsigned columns, row, column;
	gunichar cells[ROWS][256];
} fake;

static struct terminal terminal;

static void begin(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(&terminal, 0, sizeof(terminal));
	fake.columns = 80;
	fake.row = 10; /* something was there before */
}

static void put(gunichar c)
{
	const unsigned cells = g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;

	if (fake.column + cells > fake.columns) {
		fake.row++;
		fake.column = 0;
	}
	ck_assert_uint_lt(fake.row, ROWS);
	fake.cells[fake.row][fake.column] = c;
	fake.column += cells;
}

static const char *control(const char *p)
{
	char *end;
	unsigned long n = strtoul(p, &end, 10);

	if (*end == 'A')
		fake.row -= (unsigned)n;
	ck_assert(*end == 'A' || *end == 'J');
	for (unsigned i = fake.row; *end == 'J' && i < ROWS; i++)
		memset(fake.cells[i], 0, sizeof(fake.cells[i]));
	return end + 1;
}

static void draw(const char *text)
{
	g_autofree char *frame = terminal_frame(&terminal, text, 24, fake.columns);

	for (const char *p = frame; *p;)
		if (g_str_has_prefix(p, "\033[")) {
			p = control(p + 2);
		} else {
			if (*p == '\r' || *p == '\n')
				fake.column = 0;
			fake.row += *p == '\n';
			if (*p != '\r' && *p != '\n')
				put(g_utf8_get_char(p));
			p = g_utf8_next_char(p);
		}
}

/* Lines are joined anew, as most terminals do it that get narrower; what is wrapped moves down. */
static void resize(unsigned columns)
{
	static gunichar before[ROWS][256];
	const unsigned open = fake.column, last = fake.row, former = fake.columns;

	memcpy(before, fake.cells, sizeof(before));
	memset(fake.cells, 0, sizeof(fake.cells));
	fake.columns = columns;
	fake.row = 10;
	for (unsigned i = 10; i <= last; i++) {
		fake.column = 0;
		for (unsigned k = 0; k < former && (before[i][k] || (k && before[i][k - 1])); k++)
			if (before[i][k])
				put(before[i][k]);
		fake.row += i < last;
	}
	fake.column = open ? fake.column : 0;
}

static void shows(unsigned row, const char *line)
{
	GString *text = g_string_new(NULL);

	for (unsigned k = 0; k < fake.columns; k++)
		if (fake.cells[row][k])
			g_string_append_unichar(text, fake.cells[row][k]);
	ck_assert_str_eq(text->str, line);
	g_string_free(text, TRUE);
}

START_TEST(cells)
{
	ck_assert_uint_eq(terminal_cells("abc"), 3);
	ck_assert_uint_eq(terminal_cells("移行"), 4);
	ck_assert_uint_eq(terminal_cells("e\314\201"), 1);
	g_autofree char *cut = terminal_cut("a移行b", 4), *all = terminal_cut("a移行b", 6);
	ck_assert_str_eq(cut, "a移");
	ck_assert_str_eq(all, "a移行b");
	g_autofree char *bad = terminal_cut("a\377b", 3);
	ck_assert_str_eq(bad, "a\357\277\275b");
}
END_TEST

static const unsigned widths[] = {80, 60, 200, 8};

START_TEST(leaves_nothing)
{
	g_autofree char *longer = g_strnfill(150, 'x'), *text = g_strconcat(longer, "\nb\n", NULL);
	g_autofree char *cut = g_strndup(longer, MIN(widths[_i] - 1, 150));

	fake.columns = widths[_i];
	for (unsigned i = 0; i < 20; i++) {
		draw(text);
		ck_assert_uint_eq(fake.row, 12);
		shows(9, "");
		shows(10, cut);
		shows(11, "b");
		shows(12, "");
	}
	draw("移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行移行"
	     "\nc\n");
	ck_assert_uint_eq(fake.row, 12);
	shows(11, "c");
	draw("");
	ck_assert_uint_eq(fake.row, 10);
	shows(10, "");
}
END_TEST

START_TEST(becomes_narrower)
{
	g_autofree char *longer = g_strnfill(79, 'x');
	g_autofree char *text = g_strconcat(longer, "\n", longer, "\nb\n", NULL);

	draw(text);
	resize(30);
	draw("a\nb\n");
	ck_assert_uint_eq(fake.row, 12);
	shows(10, "a");
	shows(11, "b");
	for (unsigned i = 12; i < ROWS; i++)
		shows(i, "");
	draw(longer); /* a line that is open */
	resize(7);
	draw("ab");
	ck_assert_uint_eq(fake.row, 10);
	shows(10, "ab");
	shows(11, "");
	resize(200);
	draw("c");
	shows(10, "c");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, begin, NULL);
	tcase_add_test(tcase, cells);
	tcase_add_loop_test(tcase, leaves_nothing, 0, G_N_ELEMENTS(widths));
	tcase_add_test(tcase, becomes_narrower);
	return run_tcase(tcase);
}
