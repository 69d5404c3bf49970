/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>

#include "journal/store/close.h"
#include "journal/store/reader.h"
#include "lib/base/text.h"
#include "lib/config/config.h"

#define SCAN_MS 600000 /* and as long as it goes on */

/* What the journal knows before it goes, all that can be known; NULL: nobody keeps it.  g_free. */
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

static enum ctl_exit commit_volume(const struct ctl *ctl)
{
	struct volume_config *config = ctl_config(ctl);
	g_autoptr(GError) error = NULL;
	g_autofree char *changed = NULL;
	bool closed;

	if (!config)
		return CTL_USAGE;
	changed = last_changes(config);
	closed = journal_close_for_good(config->journal, &error);
	config_free(config);
	if (!closed) {
		ctl_complain("%s", error->message);
		return CTL_REFUSED;
	}
	printf("%s: the way back is closed; what clients change is not noted any more\n",
	       ctl->volume);
	if (changed)
		printf("%s\n", changed);
	return CTL_OK;
}

static enum ctl_exit run_commit(const struct ctl *ctl)
{
	ctl_announce(ctl, "commit");
	return ctl_in_turn(ctl, commit_volume);
}

CTL_COMMAND(commit, "commit", "NAME...", 1, G_MAXINT,
	    "close the way back: what clients changed is forgotten", .example = "commit projects",
	    .changes = "ends the journal and removes it; there is no way back then",
	    .exits = CTL_EXITS_ALONE, .options = ctl_options_volumes, .flags = CTL_AT_ONCE);
