/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <time.h>

#include "lib/base/text.h"

static void print_one(GKeyFile *reply, const char *group)
{
	g_autofree char *path = ctl_text(reply, group, "path");
	g_autofree char *shown = text_line(path);
	g_autofree char *bytes = ctl_bytes(ctl_number(reply, group, "bytes"));
	time_t mtime = (time_t)ctl_number(reply, group, "mtime");
	char when[32] = "";
	struct tm tm;

	if (localtime_r(&mtime, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	printf("%s  %10s  %s\n", when, bytes, shown);
}

/* The page's entries; *next: where the next one begins, or -1. */
static enum ctl_exit list_page(const struct ctl *ctl, struct ctl_link *link, gint64 *next)
{
	g_autoptr(GKeyFile) reply = NULL;
	g_autofree char *command = g_strdup_printf("aside %" G_GINT64_FORMAT, *next);
	enum ctl_exit result = ctl_ask(link, command, false, &reply);

	if (result)
		return result;
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
	for (char **group = groups; *group; group++) {
		if (!g_str_has_prefix(*group, "aside "))
			continue;
		if (ctl->json) {
			g_autoptr(GKeyFile) one = g_key_file_new();
			g_auto(GStrv) keys = g_key_file_get_keys(reply, *group, NULL, NULL);

			for (char **key = keys; *key; key++) {
				g_autofree char *value =
					g_key_file_get_value(reply, *group, *key, NULL);

				g_key_file_set_value(one, "aside", *key, value);
			}
			ctl_print_json(ctl_json(one, false), false);
		} else {
			print_one(reply, *group);
		}
	}
	*next = g_key_file_get_int64(reply, "list", "next", NULL);
	return CTL_OK;
}

static enum ctl_exit list_all(const struct ctl *ctl)
{
	enum ctl_exit result;
	struct ctl_link *link = ctl_link_open(ctl, ctl->volume, &result);
	gint64 next = 0;

	while (link && !result && next >= 0)
		result = list_page(ctl, link, &next);
	ctl_link_close(link);
	return result;
}

enum ctl_exit ctl_aside(const struct ctl *ctl)
{
	enum ctl_exit result = CTL_OK;

	if (ctl->restore == !*ctl->arguments || (ctl->discard && ctl->restore)) {
		ctl_complain("usage: " PROGRAM " aside NAME [--discard | --restore PATH...]");
		return CTL_USAGE;
	}
	if (!ctl->restore && !ctl->discard)
		return list_all(ctl);
	if (ctl->discard)
		result = ctl_ask_once(ctl, "aside discard", NULL);
	for (char **path = ctl->arguments; *path && !result; path++) {
		g_autofree char *command = g_strconcat("aside restore ", *path, NULL);

		result = ctl_ask_once(ctl, command, NULL);
	}
	if (ctl->restore)
		ctl_journal_wait(ctl);
	if (!result)
		printf("%s: %s\n", ctl->volume, ctl->discard ? "discarded" : "restored");
	return result;
}
