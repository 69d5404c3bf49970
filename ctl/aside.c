/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>

#include "lib/base/text.h"

static gboolean opt_restore, opt_discard;

static void print_one(GKeyFile *reply, const char *group)
{
	g_autofree char *path = ctl_text(reply, group, "path");
	g_autofree char *shown = text_line(path);
	g_autofree char *bytes = ctl_bytes(ctl_number(reply, group, "bytes"));
	g_autofree char *when = ctl_time((int64_t)ctl_number(reply, group, "mtime"));

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

static enum ctl_exit run_aside(const struct ctl *ctl)
{
	enum ctl_exit result = CTL_OK;

	if (opt_restore == !*ctl->arguments || (opt_discard && opt_restore) ||
	    (ctl->dry_run && !opt_discard)) {
		ctl_complain("usage: " PROGRAM
			     " aside NAME [--discard [--dry-run] | --restore PATH...]");
		return CTL_USAGE;
	}
	if (!opt_restore && (!opt_discard || ctl->dry_run))
		return list_all(ctl);
	if (opt_discard)
		result = ctl_confirm(ctl,
				     "%s: all that is set aside is destroyed (--dry-run lists it)",
				     ctl->volume);
	if (opt_discard && !result)
		result = ctl_ask_once(ctl, "aside discard", NULL);
	for (char **path = ctl->arguments; *path && !result; path++) {
		g_autofree char *command = g_strconcat("aside restore ", *path, NULL);

		result = ctl_ask_once(ctl, command, NULL);
	}
	if (opt_restore)
		ctl_journal_wait(ctl);
	if (!result)
		printf("%s: %s\n", ctl->volume, opt_discard ? "discarded" : "restored");
	return result;
}

static const GOptionEntry aside_options[] = {
	CTL_OPTION_JSON,
	CTL_FLAG("restore", opt_restore, "bring PATH... back into the tree"),
	CTL_FLAG("discard", opt_discard, "destroy all of it"),
	CTL_OPTION_DRY_RUN,
	CTL_OPTION_YES,
	{NULL},
};

CTL_COMMAND(aside, "aside", "NAME [PATH...]", 1, G_MAXINT,
	    "list what of a copy was set aside; restore or discard it",
	    .example = "aside --restore projects plans/old.doc",
	    .changes = "nothing; --restore moves files, --discard destroys all of them",
	    .options = aside_options);
