/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/ctl.h"

#include <signal.h>
#include <stdio.h>

#include "ctl/report/check.h"
#include "ctl/report/final.h"

static void print(void *arg, bool good, const char *line)
{
	g_autofree char *shown = final_printable(line);

	if (good)
		puts(shown);
	else
		ctl_complain("%s", shown);
}

enum ctl_exit ctl_check(const struct ctl *ctl)
{
	bool good = true;

	signal(SIGPIPE, SIG_IGN); /* of sort */
	for (char **file = ctl->arguments - 1; *file; file++) {
		const char *scratch = g_getenv("TMPDIR");
		const struct check check = {*file,     ctl->signers,
					    ctl->tree, scratch ? scratch : "/var/tmp",
					    print,     NULL};
		bool one = check_report(&check);

		fflush(stdout);
		if (one)
			printf("%s: good\n", *file);
		else
			ctl_complain("%s: NOT good", *file);
		good = good && one;
	}
	return good ? CTL_OK : CTL_REFUSED;
}
