/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>

uint64_t ctl_number(GKeyFile *reply, const char *group, const char *key)
{
	return g_key_file_get_uint64(reply, group, key, NULL);
}

bool ctl_yes(GKeyFile *reply, const char *group, const char *key)
{
	return g_key_file_get_boolean(reply, group, key, NULL);
}

char *ctl_text(GKeyFile *reply, const char *group, const char *key)
{
	char *text = g_key_file_get_string(reply, group, key, NULL);

	return text ? text : g_strdup("");
}

char *ctl_bytes(uint64_t bytes)
{
	return g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
}

char *ctl_time(int64_t seconds)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(seconds);

	return time ? g_date_time_format(time, "%F %T") : g_strdup("?");
}

char *ctl_portion(uint64_t whole, uint64_t found, bool bytes, bool open)
{
	g_autofree char *w =
		bytes ? ctl_bytes(whole) : g_strdup_printf("%" G_GUINT64_FORMAT, whole);
	g_autofree char *f =
		bytes ? ctl_bytes(found) : g_strdup_printf("%" G_GUINT64_FORMAT, found);
	const char *word = bytes ? "here" : "whole";

	if (!found)
		return g_strdup(open ? "none yet" : "none");
	if (open)
		return g_strdup_printf("%s of at least %s %s", w, f, word);
	/* Rounded down: 100 % is all. */
	const double promille = 1000.0 * (double)MIN(whole, found) / (double)found;
	return g_strdup_printf("%s of %s %s (%.1f %%)", w, f, word, (double)(int64_t)promille / 10);
}

bool ctl_is_settled(GKeyFile *status)
{
	g_autofree char *state = ctl_text(status, "volume", "state");

	return !strcmp(state, "whole") || !strcmp(state, "finished") || !strcmp(state, "copied");
}

bool ctl_is_request(const char *group)
{
	return g_str_has_prefix(group, "request ");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_value(JsonBuilder *builder, const char *text, bool plain)
{
	char *end;

	if (!plain && (!strcmp(text, "true") || !strcmp(text, "false"))) {
		json_builder_add_boolean_value(builder, text[0] == 't');
		return;
	}
	gint64 integer = g_ascii_strtoll(text, &end, 10);
	if (!plain && *text && !*end) {
		json_builder_add_int_value(builder, integer);
		return;
	}
	double real = g_ascii_strtod(text, &end);
	if (!plain && *text && !*end)
		json_builder_add_double_value(builder, real);
	else
		json_builder_add_string_value(builder, text);
}

static void add_group(JsonBuilder *builder, GKeyFile *reply, const char *group)
{
	g_auto(GStrv) keys = g_key_file_get_keys(reply, group, NULL, NULL);

	json_builder_begin_object(builder);
	for (unsigned i = 0; keys[i]; i++) {
		g_autofree char *value = ctl_text(reply, group, keys[i]);

		g_strdelimit(keys[i], "-", '_');
		json_builder_set_member_name(builder, keys[i]);
		/* a name may look like a number */
		add_value(builder, value, !strcmp(group, "volume") || !strcmp(keys[i], "path"));
	}
	json_builder_end_object(builder);
}

JsonNode *ctl_json(GKeyFile *reply, bool requests)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);

	json_builder_begin_object(builder);
	for (unsigned i = 0; groups[i]; i++) {
		if (ctl_is_request(groups[i]))
			continue;
		json_builder_set_member_name(builder, groups[i]);
		add_group(builder, reply, groups[i]);
	}
	if (requests) {
		json_builder_set_member_name(builder, "requests");
		json_builder_begin_array(builder);
		for (unsigned i = 0; groups[i]; i++)
			if (ctl_is_request(groups[i]))
				add_group(builder, reply, groups[i]);
		json_builder_end_array(builder);
	}
	json_builder_end_object(builder);
	return json_builder_get_root(builder);
}

void ctl_print_json(JsonNode *node, bool pretty)
{
	g_autofree char *text = json_to_string(node, pretty);

	puts(text);
	fflush(stdout);
	json_node_unref(node);
}
