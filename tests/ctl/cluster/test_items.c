/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/cluster/items.h"

#include <unistd.h>

#include "tests/suite.h"

/* What another node printed, read for the volume v; or why it is refused. */
static GPtrArray *read_text(const char *text, size_t len, GError **error)
{
	g_autofree char *file = NULL;
	const int fd = g_file_open_tmp("items-XXXXXX", &file, NULL);

	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
	GPtrArray *items = items_read(file, "v", error);
	unlink(file);
	return items;
}

static void is_refused(const char *text, size_t len, const char *why)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_text(text, len, &error));
	ck_assert_msg(strstr(error->message, why), "%s", error->message);
}

static void note(void *arg, const char *key, const char *here, const char *there)
{
	g_string_append_printf(arg, "%s|%s|%s\n", key, here ? here : "-", there ? there : "-");
}

START_TEST(differences_are_told)
{
	static const char text[] = "volume: v\nsame: a: b\nother: x\nthere: y\n";
	g_autoptr(GPtrArray) here = items_new("v"), there = read_text(text, strlen(text), NULL);
	g_autoptr(GString) told = g_string_new(NULL);

	items_add(here, "same", "a: b");
	items_add(here, "other", "z");
	items_add(here, "here", NULL);
	ck_assert_uint_eq(items_compare(here, there, note, told), 3);
	ck_assert_str_eq(told->str, "other|z|x\nhere|" ITEMS_ABSENT "|-\nthere|-|y\n");
	g_string_truncate(told, 0);
	ck_assert_uint_eq(items_compare(here, here, note, told), 0);
	ck_assert_str_eq(told->str, "");
}
END_TEST

START_TEST(a_line_stays_one)
{
	g_autoptr(GPtrArray) items = items_new("v");
	struct item *item = items_add(items, "config wave", "a\nunit x: enabled\033[2J");

	ck_assert_str_eq(item->value, "a\\012unit x: enabled\\033[2J");
	items_lack(item, "%s\n", "first");
	items_lack(item, "%s\n", "second");
	ck_assert_str_eq(item->lack, "second\\012");
}
END_TEST

START_TEST(what_is_no_listing_is_refused)
{
	g_autoptr(GError) error = NULL;

	is_refused("", 0, "make it anew");
	is_refused("volume: w\n", 10, "cluster check v");
	is_refused("clock: good\n", 12, "make it anew");
	is_refused("volume: v\n[volume v]\n", 21, "line 2");
	is_refused("volume: v\n\nclock: x\n", 20, "line 2");
	is_refused("volume: v\na: 1\na: 2\n", 20, "line 3");
	is_refused("volume: v\n: 2\n", 14, "line 2");
	is_refused("volume: v\n\0a: b\n", 16, "make it anew");
	ck_assert_ptr_null(items_read("/nowhere", "v", &error));
	ck_assert_msg(strstr(error->message, "/nowhere"), "%s", error->message);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("items");

	tcase_add_test(tcase, differences_are_told);
	tcase_add_test(tcase, a_line_stays_one);
	tcase_add_test(tcase, what_is_no_listing_is_refused);
	return run_tcase(tcase);
}
