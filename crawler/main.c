/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crawler/crawl.h"

#define PROGRAM "migrate-crawler"

static gboolean parse_main(int *argc, char ***argv, struct crawl_options *options,
			   gboolean *version)
{
	gboolean metadata_only = FALSE, once = FALSE, quiet = FALSE, lists = FALSE;
	char *order = NULL;
	int workers = 0;
	const GOptionEntry entries[] = {
		{"socket", 0, 0, G_OPTION_ARG_FILENAME, &options->socket,
		 "Default: /run/quickmigrate/NAME.sock", "PATH"},
		{"metadata-only", 0, 0, G_OPTION_ARG_NONE, &metadata_only,
		 "Bring names and attributes, no data", NULL},
		{"workers", 0, 0, G_OPTION_ARG_INT, &workers,
		 "Directories at a time (1 to 64; default: as configured)", "N"},
		{"order", 0, 0, G_OPTION_ARG_STRING, &order, POLICY_ORDERS, "ORDER"},
		{"lists", 0, 0, G_OPTION_ARG_NONE, &lists,
		 "Bring what migratectl fetch has listed, and nothing else", NULL},
		{"once", 0, 0, G_OPTION_ARG_NONE, &once, "Do not come back to what is left", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Say nothing but errors", NULL},
		{"version", 0, 0, G_OPTION_ARG_NONE, version, "Print the version", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("NAME");
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context, "Moves everything that is left on the volume NAME.");
	g_option_context_set_description(
		context,
		"Example: " PROGRAM " --metadata-only projects\n"
		"Changes: files and directories of the volume come, and become whole\n"
		"Exit status: 0 whole or stopped, 1 refused, 2 some is left, 3 other version");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, argc, argv, &error)) {
		fprintf(stderr, PROGRAM ": %s; see " PROGRAM " --help\n", error->message);
		return FALSE;
	}
	options->metadata_only = metadata_only;
	options->once = once;
	options->lists = lists;
	options->quiet = quiet;
	options->has_order = order != NULL;
	options->workers = (unsigned)workers;
	gboolean good = TRUE;
	if (workers < 0 || workers > 64) {
		fprintf(stderr, PROGRAM ": --workers %d: give a number from 1 to 64\n", workers);
		good = FALSE;
	} else if (order && !policy_order_parse(order, &options->order)) {
		fprintf(stderr, PROGRAM ": --order %s: give " POLICY_ORDERS "\n", order);
		good = FALSE;
	}
	g_free(order);
	return good;
}

int main(int argc, char **argv)
{
	static struct crawl_options options;
	gboolean version = FALSE;

	if (!parse_main(&argc, &argv, &options, &version))
		return CRAWL_REFUSED;
	if (version) {
		printf(PROGRAM " %s\n", QUICKMIGRATE_VERSION);
		return EXIT_SUCCESS;
	}
	if (argc != 2) {
		fprintf(stderr, PROGRAM ": give the name of one volume; see " PROGRAM " --help\n");
		return CRAWL_REFUSED;
	}
	if (geteuid() != 0) {
		fprintf(stderr, PROGRAM ": must be run as root\n");
		return CRAWL_REFUSED;
	}
	options.volume = argv[1];
	return crawl_run(&options);
}
