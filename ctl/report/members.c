/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/members.h"

#include "lib/base/text.h"

void member_text(JsonBuilder *builder, const char *key, const char *text)
{
	g_autofree char *valid = text_utf8(text ? text : "");

	json_builder_set_member_name(builder, key);
	json_builder_add_string_value(builder, valid);
}

void member_number(JsonBuilder *builder, const char *key, uint64_t number)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_int_value(builder, (gint64)number);
}

void member_bool(JsonBuilder *builder, const char *key, bool value)
{
	json_builder_set_member_name(builder, key);
	json_builder_add_boolean_value(builder, value);
}

void member_object(JsonBuilder *builder, const char *key)
{
	json_builder_set_member_name(builder, key);
	json_builder_begin_object(builder);
}
