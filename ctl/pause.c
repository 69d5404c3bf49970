/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands pause and resume. */
#include "ctl/ctl.h"

static enum ctl_exit run_pause(const struct ctl *ctl)
{
	return ctl_ask_and_say(
		ctl, "pause",
		"NAME: background work pauses until migratectl resume NAME; clients are "
		"served as before");
}

static enum ctl_exit run_resume(const struct ctl *ctl)
{
	return ctl_ask_and_say(ctl, "resume", "NAME: background work goes on");
}

CTL_COMMAND(pause, "pause", "NAME...", 1, G_MAXINT, "stop background work; clients are served",
	    .example = "pause projects", .changes = "background work waits, until it is resumed",
	    .options = ctl_options_volumes, .flags = CTL_AT_ONCE);

CTL_COMMAND(resume, "resume", "NAME...", 1, G_MAXINT, "go on with background work",
	    .example = "resume projects", .changes = "background work goes on",
	    .options = ctl_options_volumes, .flags = CTL_AT_ONCE);
