/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "lib/config/config_places.h"
#include "tests/suite.h"

typedef gboolean (*parse_fn)(void *field, const struct config_place *at, GError **error);

static bool takes(parse_fn parse, const char *value)
{
	const struct config_place at = {"f", "volume v", "k", value};
	g_autofree char *field = NULL;
	g_autoptr(GError) error = NULL;
	const bool taken = parse(&field, &at, &error);

	ck_assert_int_eq(taken, !error);
	ck_assert(!taken || !strcmp(field, value));
	return taken;
}

START_TEST(paths_are_absolute)
{
	static const parse_fn all[] = {config_parse_path, config_parse_socket, config_parse_journal,
				       config_parse_kept_file};

	for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
		ck_assert(takes(all[i], "/a b"));
		ck_assert(!takes(all[i], "a/b"));
	}
}
END_TEST

START_TEST(each_has_its_own_limits)
{
	g_autofree char *name = g_strnfill(107, 'x'), *longer = g_strnfill(108, 'x');

	*name = *longer = '/';
	ck_assert(takes(config_parse_socket, name));
	ck_assert(!takes(config_parse_socket, longer));
	ck_assert(!takes(config_parse_journal, "/"));
	ck_assert(!takes(config_parse_kept_file, "/a/"));
}
END_TEST

START_TEST(the_default_is_told)
{
	const struct config_place at = {"f", "volume v", "takeover-file", "x"};
	g_autoptr(GError) error = NULL;
	char *field = NULL;

	ck_assert(!config_parse_kept_file(&field, &at, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/NAME.takeover"));
	ck_assert_ptr_null(strstr(error->message, "takeover-file/"));
}
END_TEST

START_TEST(lists)
{
	struct config_place at = {"f", "volume v", "k", "/a, /b\t,/c  "};
	g_auto(GStrv) names = NULL;

	ck_assert(config_parse_directories(&names, &at, NULL));
	ck_assert_uint_eq(g_strv_length(names), 3);
	ck_assert_str_eq(names[2], "/c");
	g_clear_pointer(&names, g_strfreev);
	at.value = "/a b";
	ck_assert(!config_parse_directories(&names, &at, NULL));
	g_clear_pointer(&names, g_strfreev);
	ck_assert(config_parse_names(&names, &at, NULL));
	ck_assert_str_eq(names[1], "b");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config_places");

	tcase_add_test(tcase, paths_are_absolute);
	tcase_add_test(tcase, each_has_its_own_limits);
	tcase_add_test(tcase, the_default_is_told);
	tcase_add_test(tcase, lists);
	return run_tcase(tcase);
}
