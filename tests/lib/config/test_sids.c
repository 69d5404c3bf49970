/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>

#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

static void expect_text(const char *in, const char *out)
{
	struct sid sid = nt_sid(in);
	g_autofree char *text = sid_text(&sid);

	ck_assert_str_eq(text, out);
}

START_TEST(texts)
{
	static const char *const bad[] = {
		"",
		"S",
		"S-1",
		"S-1-",
		"S-2-5-1",
		"S-1-5-",
		"S-1-5-4294967296",
		"S-1-5--1",
		"S-1-5-x",
		"X-1-5-32",
		"S-1-5-32 ",
		"S-1-281474976710656",
		"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
	};
	struct sid sid;

	expect_text("S-1-5-32-544", "S-1-5-32-544");
	expect_text("s-1-5-21-4294967295-0-1-2", "S-1-5-21-4294967295-0-1-2");
	expect_text("S-1-5", "S-1-5");
	expect_text("S-1-0x100000000-7", "S-1-0x000100000000-7");
	expect_text("S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15",
		    "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15");
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		ck_assert_msg(!sid_parse(bad[i], &sid), "%s is taken", bad[i]);
}
END_TEST

START_TEST(bytes)
{
	struct sid anna = nt_sid(ANNA), sid;
	uint8_t copy[SID_MAX + 4] = {0};

	memcpy(copy, anna.bytes, anna.len);
	ck_assert_uint_eq(anna.len, 28);
	ck_assert(sid_read(copy, sizeof copy, &sid));
	ck_assert(sid_equal(&sid, &anna));
	ck_assert(sid_read(copy, 28, &sid));
	for (uint32_t len = 0; len < 28; len++)
		ck_assert(!sid_read(copy, len, &sid));
	copy[1] = 16;
	ck_assert(!sid_read(copy, sizeof copy, &sid));
	copy[1] = 5;
	copy[0] = 2;
	ck_assert(!sid_read(copy, sizeof copy, &sid));
	ck_assert_uint_eq(sid.len, 0);
}
END_TEST

START_TEST(known_ones)
{
	struct sid world = nt_sid(WORLD), users = nt_sid("S-1-5-32-545"), none = {0};
	struct sid other = nt_sid("S-1-281474976710401-0"); /* its authority ends with 1 */

	ck_assert(sid_is(&world, 1, 0));
	ck_assert(!sid_is(&world, 5, 0));
	ck_assert(!sid_is(&world, 1, 1));
	ck_assert(!sid_is(&other, 1, 0));
	ck_assert(!sid_is(&none, 0, 0));
	ck_assert(sid_is_two(&users, 5, 32, 545));
	ck_assert(!sid_is_two(&users, 5, 32, 544));
	ck_assert(!sid_is(&users, 5, 32));
}
END_TEST

static void expect_map(const struct sid_map *map, const char *from, const char *to)
{
	struct sid sid = nt_sid(from), found, should;

	ck_assert_int_eq(sid_map_find(map, &sid, &found), to != NULL);
	if (!to)
		return;
	should = nt_sid(to);
	ck_assert_msg(sid_equal(&found, &should), "%s is not %s", from, to);
}

START_TEST(backwards)
{
	struct sid_map *map =
		sid_map_parse("S-1-5-21-1-2-3-*:S-1-5-21-4-5-6-*, S-1-5-21-1-2-3-1002:S-1-22-1-5, "
			      "S-1-5-21-1-2-3-1001:S-1-22-1-5",
			      false, NULL);
	struct sid_map *back = sid_map_reverse(map);

	expect_map(back, "S-1-5-21-4-5-6-513", "S-1-5-21-1-2-3-513");
	expect_map(back, "S-1-22-1-5", "S-1-5-21-1-2-3-1001");
	sid_map_free(map);
	sid_map_free(back);
	ck_assert_ptr_null(sid_map_reverse(NULL));
}
END_TEST

START_TEST(sids_to_sids)
{
	struct sid_map *map = sid_map_parse(
		"S-1-5-21-1-2-3-*:S-1-5-21-4-5-6-*, S-1-5-21-1-2-3-1001:S-1-5-21-7-8-9-2001\n"
		"# somebody\n\tS-1-5-21-1-2-3-1002:S-1-22-1-5 # and his\r\n"
		"S-1-5-21-1-2-3-1003:S-1-22-1-5\n",
		false, NULL);

	ck_assert_ptr_nonnull(map);
	expect_map(map, "S-1-5-21-1-2-3-1001", "S-1-5-21-7-8-9-2001");
	expect_map(map, "S-1-5-21-1-2-3-513", "S-1-5-21-4-5-6-513");
	expect_map(map, "S-1-5-21-1-2-3-1002", "S-1-22-1-5");
	expect_map(map, "S-1-5-21-1-2-3-1003", "S-1-22-1-5");
	expect_map(map, "S-1-5-21-1-2-3", NULL);
	expect_map(map, "S-1-5-21-1-2-3-1001-1", NULL);
	expect_map(map, "S-1-5-21-1-2-4-513", NULL);
	expect_map(map, WORLD, NULL);
	expect_map(NULL, ANNA, NULL);
	sid_map_free(map);
}
END_TEST

static void expect_id(const struct sid_map *map, const char *sid, bool group, int64_t id)
{
	struct sid s = nt_sid(sid);
	uint32_t found;

	ck_assert_msg(sid_id(map, &s, group, &found) == (id >= 0), "%s", sid);
	if (id >= 0)
		ck_assert_uint_eq(found, id);
}

START_TEST(sids_to_ids)
{
	struct sid_map *map = sid_map_parse(
		"S-1-5-21-1-2-3-*:100000 S-1-5-21-1-2-3-1001:7 S-1-22-1-8:9", true, NULL);
	struct sid none = {0};
	uint32_t id;

	ck_assert_ptr_nonnull(map);
	expect_id(map, ANNA, false, 7);
	expect_id(map, STAFF, false, 100513);
	expect_id(map, "S-1-5-21-1-2-3-4294967295", false, -1);
	expect_id(map, "S-1-5-21-1-2-4-1", false, -1);
	expect_id(map, "S-1-22-1-8", false, 9);
	expect_id(map, "S-1-22-1-10", false, 10);
	expect_id(map, "S-1-22-2-10", false, -1);
	expect_id(NULL, "S-1-22-2-10", true, 10);
	expect_id(NULL, "S-1-22-1-10", true, -1);
	expect_id(NULL, "S-1-22-1-4294967295", false, -1);
	expect_id(NULL, WORLD, true, -1);
	ck_assert(!sid_id(map, &none, false, &id));
	sid_map_free(map);
}
END_TEST

START_TEST(refused)
{
	static const struct {
		const char *text, *what;
		bool ids;
	} bad[] = {
		{"", "nothing is mapped", false},
		{"# S-1-1-0:S-1-1-1", "nothing is mapped", true},
		{"S-1-1-0", "write SID:SID", false},
		{"S-1-1-0", "write SID:ID", true},
		{"S-1-1-0:S-1-1-1:S-1-1-2", "write SID:SID", false},
		{"Anna:S-1-1-1", "Anna: not a SID", false},
		{"S-1-1-0:Anna", "Anna: not a SID", false},
		{"S-1-1-0:-1", "an id is a number", true},
		{"S-1-1-0:4294967295", "an id is a number", true},
		{"S-1-5-21-*:S-1-5-21", "-* stands on both", false},
		{"S-1-5-21:S-1-5-21-*", "-* stands on both", false},
		{"S-1-1-0:S-1-1-1 S-1-1-0:S-1-1-2", "S-1-1-0 is mapped twice", false},
		{"S-1-5-21-*:1 S-1-5-21-*:2", "S-1-5-21-* is mapped twice", true},
		{"/there/is/none", "/there/is/none", false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(sid_map_parse(bad[i].text, bad[i].ids, &error));
		ck_assert_ptr_nonnull(error);
		ck_assert_msg(strstr(error->message, bad[i].what), "%s: %s", bad[i].text,
			      error->message);
	}
}
END_TEST

START_TEST(from_a_file)
{
	g_autofree char *path = NULL;
	struct sid_map *map;
	int fd = g_file_open_tmp("sids-XXXXXX", &path, NULL);

	ck_assert_int_ge(fd, 0);
	ck_assert(g_file_set_contents(path, "# all\nS-1-1-0:S-1-1-1\n", -1, NULL));
	map = sid_map_parse(path, false, NULL);
	ck_assert_ptr_nonnull(map);
	expect_map(map, "S-1-1-0", "S-1-1-1");
	sid_map_free(map);
	ck_assert(g_file_set_contents(path, "S-1-1-0:S-1-1-1\0 x", 18, NULL));
	ck_assert_ptr_null(sid_map_parse(path, false, NULL));
	g_unlink(path);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sids");

	tcase_add_test(tc, texts);
	tcase_add_test(tc, bytes);
	tcase_add_test(tc, known_ones);
	tcase_add_test(tc, backwards);
	tcase_add_test(tc, sids_to_sids);
	tcase_add_test(tc, sids_to_ids);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, from_a_file);
	return run_tcase(tc);
}
