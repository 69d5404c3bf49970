/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

static enum ctl_exit retry_failures(const struct ctl *ctl)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *command = NULL;

	g_ptr_array_add(lines, g_strdup(ctl->same ? "retry same" : "retry new"));
	ctl_add_filter(ctl, lines);
	g_ptr_array_add(lines, NULL);
	command = g_strjoinv("\n", (char **)lines->pdata);
	return ctl_ask_and_say(ctl, command,
			       "NAME: failures are forgotten; to try again at once: "
			       "systemctl start migrate-crawler@NAME");
}

/* As errors shows it, or below the root, as verify --content does. */
static enum ctl_exit retry_path(const struct ctl *ctl, const char *path)
{
	struct ctl failures = *ctl;

	failures.below = path;
	return *path == '/' ? retry_failures(&failures) : ctl_mend(ctl, path);
}

enum ctl_exit ctl_retry(const struct ctl *ctl)
{
	enum ctl_exit result = CTL_OK;

	if (*ctl->arguments && (ctl->same || ctl->reason || ctl->below)) {
		ctl_complain("retry: --same, --reason and --below are of failures, without PATH");
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
