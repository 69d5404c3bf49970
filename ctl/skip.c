/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"

#define COMMAND_MAX 64000 /* a bit less than migrate_control() takes */

static gboolean opt_all, opt_leave;
static const char *opt_because;

/* A path as the list of errors has it, in whichever form it was copied from there. */
static char *line_of_path(const char *path, bool directory)
{
	char *line = text_line(path);
	size_t len = strlen(line);

	while (directory && len > 1 && line[len - 1] == '/')
		line[--len] = '\0';
	return line;
}

static char *skip_request(const struct ctl *ctl)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *text = NULL;

	for (char **path = ctl->arguments; *path; path++)
		g_ptr_array_add(lines, line_of_path(*path, opt_all || opt_leave));
	if (opt_leave)
		g_ptr_array_add(lines, g_strdup("leave"));
	if (ctl->dry_run)
		g_ptr_array_add(lines, g_strdup("dry-run"));
	if (opt_because)
		g_ptr_array_add(lines, g_strconcat("because ", opt_because, NULL));
	ctl_add_filter(ctl, lines);
	g_ptr_array_add(lines, NULL);
	text = g_strjoinv("\n", (char **)lines->pdata);
	return g_strconcat(opt_all ? "skip all " : "skip names ", text, NULL);
}

static bool check_skip(const struct ctl *ctl)
{
	bool filtered = ctl->reason || ctl->below || ctl->code;

	if (filtered == (*ctl->arguments != NULL))
		return ctl_complain(
			"skip: give the PATH of what is to be skipped, as " PROGRAM
			" errors %s shows it; --reason=TEXT, --code=CODE or --below=DIRECTORY",
			ctl->volume);
	if (opt_because && (strchr(opt_because, '\n') || !*opt_because))
		return ctl_complain("skip: --because: write the reason in one line");
	if (opt_all && (ctl->reason || ctl->code))
		return ctl_complain(
			"skip: --all is for all names of PATH..., whatever their reason: "
			"without --reason and --code");
	return ctl_check_filter(ctl, "skip");
}

static void print_skipped(const struct ctl *ctl, GKeyFile *reply)
{
	uint64_t names = ctl_number(reply, "skip", "names");
	uint64_t directories = ctl_number(reply, "skip", "directories");

	if (!names) {
		printf("%s: nothing had to be skipped: all names are here, or are gone there\n",
		       ctl->volume);
		return;
	}
	printf("%s: " TEXT_COUNT " skipped, " TEXT_COUNT " filled; see migratectl report %s\n",
	       ctl->volume, TEXT_COUNTED(names, "names"), TEXT_COUNTED(directories, "directories"),
	       ctl->volume);
	if (opt_leave)
		printf("%s: what the old server refused is not here any more, and is on the old "
		       "server only: keep that until nobody needs it\n",
		       ctl->volume);
}

static void print_targets(const struct ctl *ctl, GKeyFile *reply)
{
	g_auto(GStrv) groups = g_key_file_get_groups(reply, NULL);
	const uint64_t targets = ctl_number(reply, "skip", "targets");

	printf("%s: would be skipped, of %" G_GUINT64_FORMAT " director%s or file%s:\n",
	       ctl->volume, targets, targets == 1 ? "y" : "ies", targets == 1 ? "" : "s");
	for (char **group = groups; *group; group++) {
		g_autofree char *path = ctl_text(reply, *group, "path");

		if (g_str_has_prefix(*group, "target "))
			printf("%s\n", path);
	}
}

static enum ctl_exit run_skip(const struct ctl *ctl)
{
	g_autofree char *text = skip_request(ctl);
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result;

	if (!check_skip(ctl))
		return CTL_USAGE;
	if (strlen(text) > COMMAND_MAX) {
		ctl_complain("skip: these are too many for one command: name those of one "
			     "directory, or skip all that it has with --all");
		return CTL_USAGE;
	}
	result = ctl->dry_run
			 ? CTL_OK
			 : ctl_confirm(ctl,
				       "%s: what is skipped is never here, and is lost with the "
				       "old server (--dry-run lists it)",
				       ctl->volume);
	if (!result)
		result = ctl_ask_once(ctl, text, &reply);
	if (!result)
		(ctl->dry_run ? print_targets : print_skipped)(ctl, reply);
	return result;
}

static const GOptionEntry skip_options[] = {
	CTL_FLAG("all", opt_all, "all such names of PATH..."),
	CTL_OPTIONS_FILTER,
	CTL_FLAG("leave", opt_leave, "also leave behind on the old server what it refuses"),
	CTL_OPTION_DRY_RUN,
	CTL_OPTION_YES,
	CTL_STRING("because", opt_because, "why, for the report", "TEXT"),
	{NULL},
};

CTL_COMMAND(skip, "skip", "NAME [PATH...]", 1, G_MAXINT,
	    "leave what can never come on the old server, and write down why",
	    .example = "skip --all projects /srv/projects/plans",
	    .changes = "directories are filled without them; --leave removes files here",
	    .options = skip_options);
