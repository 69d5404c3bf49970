/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl.h"

#include <stdio.h>
#include <string.h>

#include "source/refused.h"

#define COMMAND_MAX 64000 /* a bit less than migrate_control() takes */

/* As the list of errors has it, whichever way it was copied from there. */
static char *line_of_path(const char *path, bool directory)
{
	char *line = refused_line(path);
	size_t len = strlen(line);

	while (directory && len > 1 && line[len - 1] == '/')
		line[--len] = '\0';
	return line;
}

static char *skip_command(const struct ctl *ctl)
{
	GString *text = g_string_new(ctl->all ? "skip all " : "skip names ");

	for (char **path = ctl->arguments; *path; path++) {
		g_autofree char *line = line_of_path(*path, ctl->all);

		if (path != ctl->arguments)
			g_string_append_c(text, '\n');
		g_string_append(text, line);
	}
	return g_string_free(text, FALSE);
}

static void print_skipped(const struct ctl *ctl, GKeyFile *reply)
{
	uint64_t names = ctl_number(reply, "skip", "names");
	uint64_t directories = ctl_number(reply, "skip", "directories");

	if (!names) {
		printf("%s: nothing had to be given up: all names are here, or are gone there\n",
		       ctl->volume);
		return;
	}
	printf("%s: %" G_GUINT64_FORMAT " name%s given up, %" G_GUINT64_FORMAT
	       " director%s filled; see migratectl report %s\n",
	       ctl->volume, names, names == 1 ? "" : "s", directories,
	       directories == 1 ? "y" : "ies", ctl->volume);
}

enum ctl_exit ctl_skip(const struct ctl *ctl)
{
	g_autofree char *text = skip_command(ctl);
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result;

	if (strlen(text) > COMMAND_MAX) {
		ctl_complain("skip: these are too many for one command: name those of one "
			     "directory, or give up all that it has with --all");
		return CTL_USAGE;
	}
	result = ctl_ask_once(ctl, text, &reply);
	if (!result)
		print_skipped(ctl, reply);
	return result;
}
