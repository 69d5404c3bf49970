/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>

static enum ctl_exit check(const struct ctl *ctl)
{
	bool known = !ctl->compare || !strcmp(ctl->compare, "size-mtime") ||
		     !strcmp(ctl->compare, "content");

	if (!known)
		ctl_complain("attach: --compare is size-mtime or content, not \"%s\"",
			     ctl->compare);
	else if (!ctl->adopt && ctl->keep_extra)
		ctl_complain("attach: --keep-extra is for what another tool has copied: give "
			     "--adopt too");
	else
		return CTL_OK;
	return CTL_USAGE;
}

static bool is_noted(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) journal = g_key_file_new();

	return ctl_journal_state(ctl, journal) && ctl_yes(journal, "journal", "running");
}

enum ctl_exit ctl_attach(const struct ctl *ctl)
{
	enum ctl_exit result = check(ctl);
	g_autofree char *command = g_strconcat(
		"attach", ctl->adopt ? " adopt" : "",
		ctl->compare && !strcmp(ctl->compare, "content") ? " content" : "",
		ctl->keep_extra ? " keep-extra" : "", ctl->accept ? " accept" : "", NULL);

	if (!result)
		result = ctl_ask_once(ctl, command, NULL);
	if (!result)
		result = ctl_journal_begin(ctl);
	if (!result)
		printf("%s: attached; clients can be switched now\n", ctl->volume);
	if (!result)
		result = ctl_takeover_attached(ctl);
	if (!result && !ctl->socket && !is_noted(ctl))
		printf("%s: nobody notes what clients change, so there will be no way back: "
		       "systemctl start migrate-journal@%s\n",
		       ctl->volume, ctl->volume);
	return result;
}
