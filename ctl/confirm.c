/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum ctl_exit ctl_confirm(const struct ctl *ctl, const char *format, ...)
{
	char answer[16] = "";
	va_list args;

	if (ctl->yes)
		return CTL_OK;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		ctl_complain("%s; nothing was done: give --yes where nobody can be asked", text);
		return CTL_USAGE;
	}
	fprintf(stderr, "%s. Go on? [y/N] ", text);
	if (fgets(answer, sizeof(answer), stdin)) {
		g_strstrip(answer);
		if (!g_ascii_strcasecmp(answer, "y") || !g_ascii_strcasecmp(answer, "yes"))
			return CTL_OK;
	}
	ctl_complain("nothing was done");
	return CTL_REFUSED;
}
