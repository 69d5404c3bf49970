/* SPDX-License-Identifier: GPL-3.0-or-later */
/* copy: one run of a copy.  The retriever begins it, the crawler does it, and the retriever says
 * what was done. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/spawn.h"
#include "lib/base/text.h"

#define CRAWLER "migrate-crawler"

/* A crawler that is told to stop exits with the same status as one that has done everything. */
static enum ctl_exit check_whole(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) status = NULL;
	enum ctl_exit result = ctl_ask_once(ctl, "status", &status);
	g_autofree char *state = result ? NULL : ctl_text(status, "volume", "state");

	if (result || !strcmp(state, "copied"))
		return result;
	ctl_complain("copy: stopped; the next migratectl copy %s goes on where it was",
		     ctl->volume);
	return CTL_REFUSED;
}

#define CRAWLER_LEFT 2 /* its exit status where something is left: that is in the summary */

enum ctl_exit ctl_run_crawler(const struct ctl *ctl, const char *option)
{
	g_autofree char *crawler = program_find(CRAWLER), *socket = ctl_socket(ctl, ctl->volume);
	const char *argv[] = {crawler, "--socket", socket, ctl->volume, option, NULL};
	g_autoptr(GError) error = NULL;
	int status;

	if (!socket)
		return CTL_REFUSED;
	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, NULL,
			  NULL, &status, &error)) {
		ctl_complain("%s: %s: install all of Quickmigrate", ctl->volume, error->message);
		return CTL_REFUSED;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == CRAWLER_LEFT)
		return CTL_USAGE;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? CTL_OK : CTL_REFUSED;
}

/* CTL_REFUSED: it did not come to its end, and neither has the run. */
static enum ctl_exit run_to_end(const struct ctl *ctl)
{
	const enum ctl_exit result = ctl_run_crawler(ctl, ctl->json ? "--quiet" : NULL);

	return result == CTL_OK ? check_whole(ctl) : result == CTL_USAGE ? CTL_OK : result;
}

static uint64_t get_copy_number(GKeyFile *reply, const char *key)
{
	return ctl_number(reply, "copy", key);
}

static void print_copy_result(const struct ctl *ctl, GKeyFile *reply)
{
	g_autofree char *bytes = ctl_bytes(get_copy_number(reply, "bytes"));
	g_autofree char *fetched = ctl_bytes(get_copy_number(reply, "bytes-fetched"));
	g_autofree char *aside = ctl_bytes(get_copy_number(reply, "aside-bytes"));
	uint64_t left = get_copy_number(reply, "left");

	printf("%s: run %" G_GUINT64_FORMAT ": " TEXT_COUNT ", %s, in %" G_GUINT64_FORMAT " s\n",
	       ctl->volume, get_copy_number(reply, "run"),
	       TEXT_COUNTED(get_copy_number(reply, "objects"), "objects"), bytes,
	       get_copy_number(reply, "seconds"));
	printf("  the same as before  %" G_GUINT64_FORMAT "\n", get_copy_number(reply, "same"));
	printf("  new or changed      %" G_GUINT64_FORMAT ", %s fetched\n",
	       get_copy_number(reply, "made"), fetched);
	printf("  gone there          %" G_GUINT64_FORMAT "\n", get_copy_number(reply, "gone"));
	if (get_copy_number(reply, "aside"))
		printf("  set aside           %" G_GUINT64_FORMAT ", %s; see migratectl aside %s\n",
		       get_copy_number(reply, "aside"), aside, ctl->volume);
	if (left)
		printf("  left for the next   %" G_GUINT64_FORMAT "; see migratectl errors %s\n",
		       left, ctl->volume);
	printf("  The next run takes about %" G_GUINT64_FORMAT
	       " s, and the time for what changes until then.\n",
	       get_copy_number(reply, "next-seconds"));
}

static enum ctl_exit run_copy(const struct ctl *ctl)
{
	g_autoptr(GKeyFile) reply = NULL;
	enum ctl_exit result = ctl_ask_once(ctl, ctl->accept ? "copy accept" : "copy", NULL);

	if (!result)
		result = run_to_end(ctl);
	if (!result)
		result = ctl_ask_once(ctl, "copy end", &reply);
	if (result)
		return result;
	if (ctl->json)
		ctl_print_json(ctl_json(reply, false), true);
	else
		print_copy_result(ctl, reply);
	return ctl_yes(reply, "copy", "whole") ? CTL_OK : CTL_REFUSED;
}

static const GOptionEntry copy_options[] = {
	CTL_OPTION_JSON,
	CTL_OPTION_ACCEPT,
	{NULL},
};

CTL_COMMAND(copy, "copy", "NAME", 1, 1, "copy the old server's tree, or bring the copy up to date",
	    .example = "copy projects",
	    .changes = "makes .migrate/copy in the root, or brings it up to date",
	    .exits = "0 done, 1 some is left or it failed, 2 wrong usage, 3 no retriever",
	    .options = copy_options);
