/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "ctl/doctor/looks.h"
#include "lib/config/config.h"

#define OLD_MS 5000 /* for the old server's answer */

static gboolean opt_adopt, opt_keep_extra;
static const char *opt_compare;

static enum ctl_exit check_attach(void)
{
	bool known = !opt_compare || !strcmp(opt_compare, "size-mtime") ||
		     !strcmp(opt_compare, "content");

	if (!known)
		ctl_complain("attach: --compare is size-mtime or content, not \"%s\"", opt_compare);
	else if (!opt_adopt && opt_keep_extra)
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

/* Warns that changes on the old server may be missed here from now on. */
static void say_writable(const struct ctl *ctl)
{
	struct volume_config *config = ctl_known_config(ctl);
	const char *path = config && g_str_has_prefix(config->source, "file://")
				   ? config->source + strlen("file://")
				   : NULL;
	struct statvfs st;

	if (config && !(path && statvfs(path, &st) == 0 && st.f_flag & ST_RDONLY))
		printf("%s: %s must be read-only for everybody else from now on: %s; what is "
		       "changed there may be missed here\n",
		       ctl->volume, config->source,
		       path ? "it is not mounted read-only"
		       : old_server_is_writable(config, OLD_MS)
			       ? "it lets this machine write there"
			       : "whether its clients may still write is not known here");
	config_free(config);
}

static enum ctl_exit run_attach(const struct ctl *ctl)
{
	enum ctl_exit result = check_attach();
	g_autofree char *command = g_strconcat(
		"attach", opt_adopt ? " adopt" : "",
		opt_compare && !strcmp(opt_compare, "content") ? " content" : "",
		opt_keep_extra ? " keep-extra" : "", ctl->accept ? " accept" : "", NULL);

	if (!result)
		result = ctl_ask_once(ctl, command, NULL);
	if (!result)
		result = ctl_journal_begin(ctl);
	if (!result)
		printf("%s: attached; clients can be switched now\n", ctl->volume);
	if (!result)
		say_writable(ctl);
	if (!result)
		result = ctl_takeover_attached(ctl);
	if (!result && !ctl->socket && !is_noted(ctl))
		printf("%s: nobody notes what clients change, so there will be no way back: "
		       "systemctl start migrate-journal@%s\n",
		       ctl->volume, ctl->volume);
	return result;
}

static const GOptionEntry attach_options[] = {
	CTL_OPTIONS_VOLUMES,
	CTL_FLAG("adopt", opt_adopt, "take over what another tool has copied into the root"),
	CTL_FILE("compare", opt_compare, "size-mtime, or content too", "HOW"),
	CTL_FLAG("keep-extra", opt_keep_extra,
		 "what the old server does not have stays in the tree"),
	CTL_OPTION_ACCEPT,
	{NULL},
};

CTL_COMMAND(attach, "attach", "NAME...", 1, G_MAXINT,
	    "bind the root to the old server; clients can be switched then",
	    .example = "attach projects",
	    .changes = "binds the root to its source; --adopt moves what is in the root",
	    .options = attach_options, .flags = CTL_EACH);
