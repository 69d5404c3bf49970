/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <string.h>

#include "lib/config/config.h"

static enum ctl_exit run_throttle(const struct ctl *ctl)
{
	const char *limit = ctl->arguments[0];
	uint64_t bytes;

	if (!strcmp(limit, "default"))
		return ctl_ask_and_say(ctl, "throttle default",
				       "NAME: limits are what the configuration says");
	if (!config_parse_size(limit, &bytes)) {
		ctl_complain("throttle: \"%s\" is no number of bytes per second; write for example "
			     "50M, 0 for no limit, or default for what the configuration says",
			     limit);
		return CTL_USAGE;
	}
	g_autofree char *command = g_strdup_printf("throttle %" G_GUINT64_FORMAT, bytes);
	g_autofree char *shown = ctl_bytes(bytes);
	g_autofree char *text = g_strdup_printf(
		"NAME: %s%s, until migratectl throttle NAME default",
		bytes ? shown : "no bandwidth limit", bytes ? "/s at most in the background" : "");
	return ctl_ask_and_say(ctl, command, text);
}

CTL_COMMAND(throttle, "throttle", "NAME... BYTES", 2, G_MAXINT,
	    "limit background reads a second: BYTES, 0 (none), or default",
	    .example = "throttle projects 50M", .changes = "the limit, until throttle NAME default",
	    .options = ctl_options_volumes, .flags = CTL_AT_ONCE, .own = 1);
