/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

static enum ctl_exit run_accept(const struct ctl *ctl)
{
	return ctl_ask_and_say(ctl, "accept",
			       "NAME: what of the copy the old server does not have is set aside, "
			       "however much it is");
}

CTL_COMMAND(accept, "accept", "NAME", 1, 1,
	    "let any number of a copy's names go, until the retriever restarts",
	    .example = "accept projects",
	    .changes = "nothing at once; more of the copy's names may be set aside");
