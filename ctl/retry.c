/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>

#include "lib/base/text.h"

static gboolean opt_same;

static enum ctl_exit forget_failures(const struct ctl *ctl)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *command = NULL;

	g_ptr_array_add(lines, g_strdup(opt_same ? "retry same" : "retry new"));
	ctl_add_filter(ctl, lines);
	g_ptr_array_add(lines, NULL);
	command = g_strjoinv("\n", (char **)lines->pdata);
	return ctl_ask_and_say(ctl, command,
			       "NAME: failures are forgotten; to try again at once: "
			       "systemctl start migrate-crawler@NAME");
}

static enum ctl_exit forget_of_code(const struct ctl *ctl)
{
	struct ctl one = *ctl;
	const enum ctl_exit known = ctl_check_codes(&one);

	one.many = FALSE;
	return known ? known : forget_failures(&one);
}

static enum ctl_exit retry_failures(const struct ctl *ctl)
{
	if (!ctl->code)
		return forget_failures(ctl);
	return ctl->many ? ctl_in_turn(ctl, forget_of_code) : forget_of_code(ctl);
}

/* Has the retriever mend what verify --content has found at path. */
static enum ctl_exit mend_path(const struct ctl *ctl, const char *path)
{
	g_autofree char *command = g_strconcat("mend ", path, NULL), *shown = text_line(path);
	g_autofree char *text = NULL;
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = ctl_ask_once(ctl, command, &reply);

	if (result) {
		ctl_complain("retry: %s is left as it is", shown);
		return result;
	}
	text = ctl_text(reply, "mend", "text");
	printf("%s: %s\n", shown, text);
	return CTL_OK;
}

/* The path may be as `errors` shows it, or below the root, as `verify --content` shows it. */
static enum ctl_exit retry_path(const struct ctl *ctl, const char *path)
{
	struct ctl failures = *ctl;

	failures.below = path;
	return *path == '/' ? retry_failures(&failures) : mend_path(ctl, path);
}

static enum ctl_exit run_retry(const struct ctl *ctl)
{
	enum ctl_exit result = CTL_OK;

	if (*ctl->arguments && (opt_same || ctl->reason || ctl->below || ctl->code)) {
		ctl_complain("retry: --same, --reason, --below and --code are of failures, without "
			     "PATH");
		return CTL_USAGE;
	}
	if (!ctl_check_filter(ctl, "retry"))
		return CTL_USAGE;
	if (!*ctl->arguments)
		return retry_failures(ctl);
	for (char **path = ctl->arguments; *path && result != CTL_NO_RETRIEVER; path++) {
		enum ctl_exit one = retry_path(ctl, *path);

		result = one ? one : result;
	}
	return result;
}

static const GOptionEntry retry_options[] = {
	CTL_FLAG("same", opt_same, "size and mtime are enough to know a file by"),
	CTL_OPTIONS_VOLUMES,
	CTL_OPTIONS_FILTER,
	{NULL},
};

CTL_COMMAND(retry, "retry", "NAME [PATH...]", 1, G_MAXINT,
	    "try again what failed; or mend what verify --content has found",
	    .example = "retry --reason=space projects",
	    .changes = "forgets failures; with PATH, that object is written anew",
	    .options = retry_options, .flags = CTL_AT_ONCE, .own = -1);
