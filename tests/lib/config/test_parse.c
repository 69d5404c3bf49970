/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "lib/config/owners.h"
#include "lib/config/parse.h"
#include "tests/suite.h"

START_TEST(ids)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "+1", "-1", "0x10", "1a", "4294967295", "18446744073709551616"};
	uint32_t id = 7;

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!parse_id(bad[i], &id), "%s", bad[i]);
	ck_assert_uint_eq(id, 7);
	ck_assert(parse_id("0", &id));
	ck_assert_uint_eq(id, 0);
	ck_assert(parse_id("0010", &id));
	ck_assert_uint_eq(id, 10);
	ck_assert(parse_id("4294967294", &id));
	ck_assert_uint_eq(id, OWNER_NONE - 1);
}
END_TEST

START_TEST(errors)
{
	g_autoptr(GError) error = NULL;

	ck_assert(!parse_wrong(NULL, "unheard"));
	ck_assert(!parse_wrong(&error, "%s %d", "text", 5));
	ck_assert(g_error_matches(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE));
	ck_assert_str_eq(error->message, "text 5");
}
END_TEST

START_TEST(words)
{
	static const char *const words[] = {[1] = "one", [2] = "two", [4] = "four"};
	struct config_place at = {"file", "group", "key", "two"};
	g_autoptr(GError) error = NULL;
	unsigned number = 7;

	ck_assert(config_take_word(&number, words, G_N_ELEMENTS(words), &at, &error));
	ck_assert_uint_eq(number, 2);
	at.value = "Two";
	ck_assert(!config_take_word(&number, words, G_N_ELEMENTS(words), &at, &error));
	ck_assert_str_eq(error->message, "file: [group] key = Two: unknown; use one, two or four");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("parse");

	tcase_add_test(tcase, ids);
	tcase_add_test(tcase, errors);
	tcase_add_test(tcase, words);
	return run_tcase(tcase);
}
