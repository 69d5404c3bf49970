/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>

#include "ctl/check/show.h"
#include "ctl/report/page.h"
#include "tests/ctl/check/whole.h"

START_TEST(parsed)
{
	struct survey survey;
	g_autofree char *text = NULL;
	g_autoptr(JsonParser) parser = json_parser_new();
	JsonObject *root, *notices, *acl, *owners, *can;

	whole_begin(&survey);
	whole_lose(&survey);
	for (unsigned i = 0; i < 3; i++)
		notices_add(survey.notices, NOTE_OWNERS, "", "user 1000");
	survey.target.known = true;
	survey.target.capabilities.tried = 1u << CAPABILITY_FLAGS | 1u << CAPABILITY_BIRTH;
	survey.target.capabilities.lacking = 1u << CAPABILITY_BIRTH;
	text = show_json(&survey);
	ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
	root = json_node_get_object(json_parser_get_root(parser));
	ck_assert_int_eq(json_object_get_int_member(root, "quickmigrate_check"), SHOW_FORMAT);
	ck_assert_str_eq(json_object_get_string_member(root, "verdict"), "losses");
	notices = json_object_get_object_member(root, "losses");
	ck_assert_uint_eq(json_object_get_size(notices), NOTICE_NOTES);
	acl = json_object_get_object_member(notices, "acl");
	ck_assert_int_eq(json_object_get_int_member(acl, "total"), 1);
	ck_assert_uint_eq(json_array_get_length(json_object_get_array_member(acl, "first")), 1);
	can = json_object_get_object_member(json_object_get_object_member(root, "target"),
					    "capabilities");
	ck_assert_uint_eq(json_object_get_size(can), CAPABILITIES);
	ck_assert(json_object_get_boolean_member(can, "flags"));
	ck_assert(!json_object_get_boolean_member(can, "birth-times"));
	ck_assert(json_object_get_null_member(can, "leases"));
	owners = json_object_get_object_member(root, "owners");
	ck_assert_int_eq(json_object_get_int_member(owners, "user 1000"), 3);
	ck_assert(!json_object_has_member(json_object_get_object_member(root, "notes"), "owners"));
	ck_assert_uint_eq(
		json_array_get_length(json_object_get_array_member(root, "never_carried")), 2);
	ck_assert(json_object_get_null_member(json_object_get_object_member(root, "estimate"),
					      "data") == FALSE);
	survey_clear(&survey);
}
END_TEST

/* What cannot be told is null. */
START_TEST(unknown)
{
	struct survey survey;
	g_autofree char *text = NULL;

	whole_begin(&survey);
	survey.estimate = (struct estimate){0};
	survey.target.known = false;
	text = show_json(&survey);
	ck_assert_ptr_nonnull(strstr(text, "\"crawl\" : null"));
	ck_assert_ptr_null(strstr(text, "bytes_free"));
	survey_clear(&survey);
}
END_TEST

/* What comes from the old server is text there. */
START_TEST(as_a_page)
{
	static const char *const never[] = {"<script", "<img", "\x1b", "\xff"};
	struct survey survey;

	whole_begin(&survey);
	whole_lose(&survey);
	g_autofree char *json = show_json(&survey);
	g_autofree char *page = page_of_json("Check", true, "Go", json);

	for (unsigned i = 0; i < G_N_ELEMENTS(never); i++)
		ck_assert_msg(!strstr(page, never[i]), "%s", never[i]);
	ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;"));
	ck_assert_ptr_nonnull(strstr(page, "<p class=\"good\">Go.</p>"));
	ck_assert_ptr_nonnull(strstr(page, "<meter"));
	for (unsigned i = 0; i < NOTE_OWNERS; i++)
		ck_assert_msg(strstr(page, notice_title(i)) != NULL, "%s", notice_title(i));
	survey_clear(&survey);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {parsed, unknown, as_a_page, NULL};

	return run_made("show_json", tests);
}
