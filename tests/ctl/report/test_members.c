/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/members.h"
#include "tests/ctl/report/made.h"

START_TEST(members)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_autoptr(JsonNode) root = NULL;
	JsonObject *object, *inner;

	json_builder_begin_object(builder);
	member_text(builder, "bad", "\xff");
	member_text(builder, "none", NULL);
	member_number(builder, "n", 7);
	member_object(builder, "inner");
	member_bool(builder, "yes", true);
	json_builder_end_object(builder);
	json_builder_end_object(builder);
	root = json_builder_get_root(builder);
	object = json_node_get_object(root);
	inner = json_object_get_object_member(object, "inner");
	ck_assert_str_eq(json_object_get_string_member(object, "bad"), "\\377");
	ck_assert_str_eq(json_object_get_string_member(object, "none"), "");
	ck_assert_int_eq(json_object_get_int_member(object, "n"), 7);
	ck_assert(json_object_get_boolean_member(inner, "yes"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {members, NULL};

	return run_made("members", tests);
}
