/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/migrate.h"
#include "journal/store/close.h"
#include "journal/store/reader.h"
#include "lib/base/text.h"
#include "lib/config/config.h"
#include "lib/report/omissions.h"

#define SCAN_MS 600000 /* and as long as it goes on */

/* All that the journal can still know before it is removed; NULL: nobody keeps one.  g_free. */
static char *last_changes(const struct volume_config *config)
{
	struct journal_reader *reader = journal_open(config->journal, NULL);
	struct journal_state state;
	char *text = NULL;

	if (reader && journal_settle(reader, true, SCAN_MS, NULL) &&
	    journal_state(reader, &state, NULL)) {
		g_autofree char *since = ctl_time(state.since / CTL_NS);
		g_autofree char *seen = ctl_time(state.seen / CTL_NS);

		text = g_strdup_printf("from %s to %s, changes of " TEXT_COUNT
				       " are known, %" G_GUINT64_FORMAT " may have been changed",
				       since, seen,
				       TEXT_COUNTED(state.rows - state.maybe, "objects"),
				       state.maybe);
	}
	journal_close(reader);
	return text;
}

/* Nothing is known yet of a volume that was not attached, so nothing can be forgotten.  The root
 * tells that with its retriever or without; one that is not mounted is not the journal's. */
static bool is_unattached(const struct volume_config *config)
{
	const int root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct journal_reader *reader = journal_open(config->journal, NULL);
	const bool unattached = root_fd >= 0 && !migrate_has_record(root_fd) &&
				!migrate_has_private(root_fd) && !omissions_was_attached(root_fd) &&
				access(config->report, F_OK) < 0 &&
				(!reader || journal_is_of(reader, root_fd));

	journal_close(reader);
	if (root_fd >= 0)
		close(root_fd);
	return unattached;
}

static enum ctl_exit close_way_back(const struct ctl *ctl, const struct volume_config *config)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *changed = NULL;
	enum ctl_exit result;

	if (is_unattached(config)) {
		ctl_complain("%s: %s is not attached: there is no way back to be closed; mount its "
			     "file system, or attach it first: " PROGRAM " attach %s",
			     ctl->volume, config->root, ctl->volume);
		return CTL_REFUSED;
	}
	if (access(config->journal, F_OK) < 0) {
		ctl_complain("%s: %s: there is no journal: there is no way back to be closed",
			     ctl->volume, config->journal);
		return CTL_REFUSED;
	}
	changed = last_changes(config);
	result =
		ctl_confirm(ctl, "%s: there will be no way back to the old server%s%s", ctl->volume,
			    changed ? ", and what was not carried there is forgotten: " : "",
			    changed ? changed : "");
	if (result)
		return result;
	if (!journal_close_for_good(config->journal, &error)) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	printf("%s: the way back is closed%s%s; what clients change is not noted any more\n",
	       ctl->volume, changed ? ": " : "", changed ? changed : "");
	if (changed)
		printf("%s\n", changed);
	return CTL_OK;
}

static enum ctl_exit commit_volume(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	enum ctl_exit result = config ? close_way_back(ctl, config) : CTL_USAGE;

	config_free(config);
	return result;
}

static enum ctl_exit run_commit(const struct ctl *ctl)
{
	ctl_announce(ctl, "commit");
	return ctl_in_turn(ctl, commit_volume);
}

static const GOptionEntry commit_options[] = {
	CTL_OPTIONS_VOLUMES,
	CTL_OPTION_YES,
	{NULL},
};

CTL_COMMAND(commit, "commit", "NAME...", 1, G_MAXINT,
	    "close the way back: what clients changed is forgotten", .example = "commit projects",
	    .changes = "ends the journal and removes it; there is no way back then",
	    .exits = CTL_EXITS_ALONE, .options = commit_options, .flags = CTL_AT_ONCE);
