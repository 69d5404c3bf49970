/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl.h"

#include <stdio.h>

#include "source/refused.h"

struct listing {
	bool json;
	JsonBuilder *builder;
};

static void list_one(struct listing *listing, GKeyFile *reply, const char *group)
{
	g_autofree char *path = ctl_text(reply, group, "path");
	g_autofree char *reason = ctl_text(reply, group, "reason");

	if (!listing->json) {
		g_autofree char *shown_path = refused_line(path);
		g_autofree char *shown_reason = refused_line(reason);

		printf("%s: %s\n", shown_path, shown_reason);
		return;
	}
	json_builder_begin_object(listing->builder);
	json_builder_set_member_name(listing->builder, "path");
	json_builder_add_string_value(listing->builder, path);
	json_builder_set_member_name(listing->builder, "reason");
	json_builder_add_string_value(listing->builder, reason);
	json_builder_set_member_name(listing->builder, "errno");
	json_builder_add_int_value(listing->builder, (gint64)ctl_number(reply, group, "errno"));
	json_builder_end_object(listing->builder);
}

/* Lists the part that begins at start.  Returns where the next one does; -1: at the end. */
static gint64 list_part(struct listing *listing, GKeyFile *reply, gint64 start)
{
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
	unsigned count = 0;

	while (groups[count] && g_str_has_prefix(groups[count], "error "))
		count++;
	/* Long paths: the reply was cut to what a frame holds, somewhere in the last entry. */
	bool cut = !g_key_file_has_key(reply, "errors", "next", NULL);
	if (cut && count)
		count--;
	for (unsigned i = 0; i < count; i++)
		list_one(listing, reply, groups[i]);
	if (cut)
		return start + count;
	return g_key_file_get_int64(reply, "errors", "next", NULL);
}

static enum ctl_exit list_all(struct listing *listing, struct ctl_link *link)
{
	gint64 start = 0;

	while (start >= 0) {
		g_autofree char *command = g_strdup_printf("errors %" G_GINT64_FORMAT, start);
		g_autoptr(GKeyFile) reply = NULL;
		enum ctl_exit result = ctl_ask(link, command, false, &reply);

		if (result)
			return result;
		gint64 next = list_part(listing, reply, start);
		if (next == start) {
			ctl_complain("the rest of the list does not come; restart the retriever");
			return CTL_REFUSED;
		}
		start = next;
	}
	return CTL_OK;
}

enum ctl_exit ctl_errors(const struct ctl *ctl)
{
	g_autoptr(JsonBuilder) builder = json_builder_new();
	struct listing listing = {ctl->json, builder};
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);

	if (!link)
		return result;
	json_builder_begin_array(builder);
	result = list_all(&listing, link);
	json_builder_end_array(builder);
	if (!result && ctl->json)
		ctl_print_json(json_builder_get_root(builder), true);
	ctl_link_close(link);
	return result;
}
