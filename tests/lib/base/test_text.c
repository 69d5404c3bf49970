/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib.h>
#include <string.h>

#include "lib/base/text.h"
#include "tests/suite.h"

static void shows(const char *bytes, size_t len, const char *expected)
{
	g_autofree char *text = text_name(bytes, len);

	ck_assert_str_eq(text, expected);
}

START_TEST(bytes)
{
	shows("a b", 3, "a b");
	shows("Gr\xc3\xbc\xc3\x9f"
	      "e",
	      7, "Grüße");
	shows("a/b", 3, "a/b");
	shows("a\0b", 3, "a\\000b");
	shows("a\\b\n\x7f", 5, "a\\134b\\012\\177");
	shows("\xff\xc3", 2, "\\377\\303");
	shows("\xc2\x9b[2J", 5, "\\302\\233[2J");    /* as terminals may see it: an escape */
	shows("\xe2\x80\xae", 3, "\\342\\200\\256"); /* right to left */
	shows("\xe2\x80\xa8", 3, "\\342\\200\\250"); /* a line's end */
	shows("", 0, "\"\"");
}
END_TEST

static void shows_utf16(const char *bytes, size_t len, const char *expected)
{
	g_autofree char *text = text_name_utf16((const uint8_t *)bytes, len);

	ck_assert_str_eq(text, expected);
}

START_TEST(utf16)
{
	shows_utf16("a\0:\0b", 6, "a:b");
	shows_utf16("\xfc\0", 2, "ü");
	shows_utf16("\x3d\xd8\x00\xde", 4, "😀");
	shows_utf16("\x3d\xd8\x3d\xd8\x00\xde", 6, "\\uD83D😀");
	shows_utf16("\x00\xde\x3d\xd8", 4, "\\uDE00\\uD83D");
	shows_utf16("\\\0\t", 4, "\\134\\011");
	shows_utf16("\0\0a", 4, "\\000a");
	shows_utf16("a\0b", 3, "a"); /* half a unit at its end */
	shows_utf16("", 0, "\"\"");
}
END_TEST

START_TEST(long_ones_are_cut)
{
	size_t len = 100000;
	g_autofree char *bytes = g_malloc(len);
	g_autofree char *text = NULL, *text16 = NULL, *other = NULL;

	memset(bytes, 0xdc, len);
	text = text_name(bytes, len);
	text16 = text_name_utf16((uint8_t *)bytes, len);
	ck_assert_uint_le(strlen(text), REFUSED_TEXT_MAX);
	ck_assert_uint_le(strlen(text16), REFUSED_TEXT_MAX);
	ck_assert_ptr_nonnull(strstr(text, "\\334...("));
	ck_assert_ptr_nonnull(strstr(text16, "\\uDCDC...("));
	/* what differs behind that is not shown alike */
	bytes[len - 1] = 'x';
	other = text_name(bytes, len);
	ck_assert_str_ne(text, other);
	ck_assert_uint_eq(strlen(text), strlen(other));
}
END_TEST

START_TEST(lines)
{
	g_autofree char *line = text_line("a\n\x7f\\b \xc3\xbc\xff\xc2\x9b[2J\xc3");

	ck_assert_str_eq(line, "a\\012\\177\\b \xc3\xbc\\377\\302\\233[2J\\303");
}
END_TEST

START_TEST(utf8)
{
	g_autofree char *good = text_utf8("a\n\\ \xc3\xbc"), *bad = text_utf8("a\\ \xfc");

	ck_assert_str_eq(good, "a\n\\ \xc3\xbc");
	ck_assert_str_eq(bad, "a\\\\ \\374");
}
END_TEST

START_TEST(plurals)
{
	ck_assert_str_eq(text_plural(0, "volumes"), "volumes");
	ck_assert_str_eq(text_plural(1, "volumes"), "volume");
	ck_assert_str_eq(text_plural(1, "directories"), "directory");
	ck_assert_str_eq(text_plural(1, "processes"), "process");
	ck_assert_str_eq(text_plural(2, "processes"), "processes");
	ck_assert_str_eq(text_plural(1, "objects are"), "object is");
	ck_assert_str_eq(text_plural(1, "names have"), "name has");
	ck_assert_str_eq(text_plural(0, "objects are"), "objects are");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("refused");

	tcase_add_test(tcase, bytes);
	tcase_add_test(tcase, utf8);
	tcase_add_test(tcase, utf16);
	tcase_add_test(tcase, long_ones_are_cut);
	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, plurals);
	return run_tcase(tcase);
}
