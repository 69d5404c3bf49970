/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/source/smb/smb_text.h"
#include "tests/suite.h"

static void there_and_back(const char *utf8, const void *utf16, size_t len)
{
	uint8_t units[64];
	char text[64];

	ck_assert_int_eq(smb_text_to_utf16(utf8, strlen(utf8), units), (long)len);
	ck_assert_mem_eq(units, utf16, len);
	ck_assert_int_eq(smb_text_from_utf16(utf16, len, text), (long)strlen(utf8));
	ck_assert_mem_eq(text, utf8, strlen(utf8));
}

START_TEST(texts_are_the_same_after_there_and_back)
{
	there_and_back("aZ~", "a\0Z\0~\0", 6);
	there_and_back("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", "\x7f\0\x80\0\xff\x07\0\x08", 8);
	there_and_back("\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", "\xff\xd7\0\xe0\xff\xff", 6);
	there_and_back("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\0\xd8\0\xdc\xff\xdb\xff\xdf", 8);
}
END_TEST

START_TEST(nothing_is_replaced)
{
	static const char *const bad[] = {"\x80",
					  "\xc3",
					  "\xc3(",
					  "\xc0\x80",
					  "\xe0\x9f\xbf",
					  "\xed\xa0\x80",
					  "\xed\xbf\xbf",
					  "\xf0\x8f\xbf\xbf",
					  "\xf4\x90\x80\x80",
					  "\xf5\x80\x80\x80",
					  "\xff",
					  "a\xe2\x82"};
	static const struct {
		const char *bytes;
		size_t len;
	} halves[] = {{"a", 1},
		      {"\0\xd8", 2},
		      {"\0\xdc", 2},
		      {"\0\xd8"
		       "a\0",
		       4},
		      {"\0\xd8\0\xd8", 4},
		      {"\0\xdc\0\xd8", 4}};
	uint8_t units[64];
	char text[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(smb_text_to_utf16(bad[i], strlen(bad[i]), units) < 0, "%zu", i);
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
		ck_assert_msg(smb_text_from_utf16((const uint8_t *)halves[i].bytes, halves[i].len,
						  text) < 0,
			      "%zu", i);
}
END_TEST

START_TEST(names_that_can_be)
{
	static const char *const good[] = {"a",	  "...", "..a",		".a",
					   " a ", "a.",	 "a;b=c,d+[e]", "\xc3\xa4"};
	static const char *const bad[] = {"",	".", "..", "a/b", "a\\b", "a:b",  "*",
					  "a?", "<", ">",  "|",	  "\"",	  "a\nb", "\x1f"};
	char name[257];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(smb_name_ok(good[i], strlen(good[i])), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!smb_name_ok(bad[i], strlen(bad[i])), "%s", bad[i]);
	ck_assert(!smb_name_ok("a\0b", 3));
	memset(name, 'n', sizeof(name));
	ck_assert(smb_name_ok(name, 255));
	ck_assert(!smb_name_ok(name, 256));
}
END_TEST

START_TEST(paths_that_can_be)
{
	static const char *const good[] = {"", "a", "a/b c/\xc3\xa4", "a/"};
	static const char *const bad[] = {"a:b/c", "a/b\\c", "a//c", "/a", "a/../c", "a/*"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(smb_path_ok(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!smb_path_ok(bad[i]), "%s", bad[i]);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("text");

	tcase_add_test(tcase, texts_are_the_same_after_there_and_back);
	tcase_add_test(tcase, nothing_is_replaced);
	tcase_add_test(tcase, names_that_can_be);
	tcase_add_test(tcase, paths_that_can_be);
	return run_tcase(tcase);
}
