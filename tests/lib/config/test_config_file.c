/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/config_file.h"
#include "tests/suite.h"

static char *file;

static void setup(void)
{
	int fd = g_file_open_tmp("config-file-XXXXXX", &file, NULL);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	g_unlink(file);
	g_free(file);
}

static const char *refuses(const char *group, const char *key)
{
	return strcmp(key, "bad") ? NULL : strcmp(group, CONFIG_DEFAULTS) ? "bad" : "bad default";
}

static GKeyFile *load(const char *text, GError **error)
{
	ck_assert(g_file_set_contents(file, text, -1, NULL));
	return config_file_load(file, refuses, error);
}

static void refused(const char *text, const char *what)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(load(text, &error));
	ck_assert_msg(strstr(error->message, file) && strstr(error->message, what), "%s",
		      error->message);
}

START_TEST(good_files)
{
	g_autoptr(GKeyFile) parsed = load("[defaults]\na = 1\n[volume x]\nb =  two words \n", NULL);
	g_autofree char *b = config_file_value(parsed, "volume x", "b");

	ck_assert_str_eq(b, "two words");
	ck_assert_ptr_null(config_file_value(parsed, "volume x", "a"));
	ck_assert_ptr_null(config_file_value(parsed, "volume y", "b"));
}
END_TEST

/* It is not seen where it is written. */
START_TEST(byte_order_mark)
{
	g_autoptr(GKeyFile) parsed = load("\357\273\277[volume x]\nb = two\n", NULL);

	ck_assert(g_key_file_has_key(parsed, "volume x", "b", NULL));
}
END_TEST

START_TEST(bad_files)
{
	refused("[volume x]\nb = \"/srv/x\"\n", "write it without quotes");
	refused("[volume x]\nb = '/srv/x'\n", "write it without quotes");
	refused("[volume x]\nb = \342\200\234/srv/x\342\200\235\n", "write it without quotes");
	refused("[volume x]\nbad = 1\n", "[volume x] bad: bad");
	refused("[defaults]\nbad = 1\n", "[defaults] bad: bad default");
	refused("[default]\na = 1\n", "[default]: unknown group");
	refused("[volume x]\n[volume x]\n", "twice");
	refused("[defaults]\na = 1\n[defaults]\n", "twice");
	refused("[volume -x]\n", "no good volume name");
}
END_TEST

START_TEST(names)
{
	g_autofree char *longest = g_strnfill(CONFIG_NAME_MAX, 'a');
	g_autofree char *too_long = g_strnfill(CONFIG_NAME_MAX + 1, 'a');

	ck_assert(config_name_ok("a.B-9_"));
	ck_assert(config_name_ok(longest));
	ck_assert(!config_name_ok(too_long));
	ck_assert(!config_name_ok(""));
	ck_assert(!config_name_ok("a b"));
	ck_assert(!config_name_ok(".a"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, good_files);
	tcase_add_test(tcase, byte_order_mark);
	tcase_add_test(tcase, bad_files);
	tcase_add_test(tcase, names);
	return run_tcase(tcase);
}
