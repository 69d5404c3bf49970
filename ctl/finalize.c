/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdio.h>

#include "lib/base/text.h"

static gboolean opt_unwatched;

static enum ctl_exit finalize_volume(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) reply = NULL;
	g_autofree char *command = g_strconcat(ctl->dry_run ? "finalizable" : "finalize",
					       opt_unwatched ? " unwatched" : "", NULL);
	enum ctl_exit result = ctl_ask_once(ctl, command, &reply);

	if (result)
		return result;
	if (ctl->dry_run) {
		printf("%s: everything is whole: it can be finalized\n", ctl->volume);
		return result;
	}
	printf("%s: finished; nothing of ours is on the volume, and the file server's "
	       "configuration can do without it%s\n",
	       ctl->volume,
	       ctl_takeover_is_on(ctl)
		       ? " once no takeover handle is used any more (migratectl takeover)"
		       : "");
	uint64_t losses = ctl_number(reply, "finalize", "losses");
	if (losses)
		printf("%s: " TEXT_COUNT " could not be carried over; see migratectl "
		       "report %s\n",
		       ctl->volume, TEXT_COUNTED(losses, "things"), ctl->volume);
	uint64_t names = ctl_number(reply, "finalize", "names-skipped");
	if (names)
		printf("%s: among them are names that were skipped: %" G_GUINT64_FORMAT "\n",
		       ctl->volume, names);
	return result;
}

/* Each restart costs NFSv4 clients a time of grace, and one restart is enough for all volumes. */
static enum ctl_exit run_finalize(const struct ctl *ctl)
{
	ctl_announce(ctl, "finalize");
	enum ctl_exit result = ctl_in_turn(ctl, finalize_volume);

	if (ctl->many && !ctl->dry_run)
		puts(result ? "not all are finished: leave the file servers' configuration as it "
			      "is until they are, so that one restart, and one grace period, does "
			      "for all"
			    : "all are finished: take the layer out of the file servers' "
			      "configuration for all of them at once: one restart, and one grace "
			      "period, does");
	return result;
}

static const GOptionEntry finalize_options[] = {
	CTL_OPTIONS_VOLUMES,
	CTL_OPTION_DRY_RUN,
	CTL_FLAG("unwatched", opt_unwatched, "programs of this machine move nothing meanwhile"),
	{NULL},
};

CTL_COMMAND(finalize, "finalize", "NAME...", 1, G_MAXINT,
	    "verify, and remove what is left of the migration", .example = "finalize projects",
	    .changes = "removes .migrate/ from the root, once everything is whole",
	    .options = finalize_options, .flags = CTL_AT_ONCE);
