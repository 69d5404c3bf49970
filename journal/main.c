/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "journal/journal.h"
#include "journal/store/live.h"
#include "journal/store/reader.h"
#include "lib/base/log.h"
#include "lib/config/config.h"
#include "lib/report/omissions.h"

static struct journal *volatile journal;
static atomic_bool ended;

static void forward_signal(int number)
{
	const int saved = errno;

	if (number == SIGTERM || number == SIGINT)
		ended = true;
	if (journal)
		journal_ask(journal, number);
	errno = saved;
}

static void catch_signals(void)
{
	const int numbers[] = {SIGTERM, SIGINT, JOURNAL_ASK_COMMIT, JOURNAL_ASK_SCAN,
			       JOURNAL_ASK_BEGIN};
	struct sigaction action = {.sa_handler = forward_signal, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

/* What would be the same if it were tried again: the store is another directory's, or the kernel
 * refuses. */
static bool is_final(const GError *error)
{
	static const int codes[] = {EXDEV, EPERM, EINVAL, ENOSYS, ENODEV};

	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
		if (g_error_matches(error, JOURNAL_ERROR, codes[i]))
			return true;
	return false;
}

static int serve(const struct volume_config *config)
{
	g_autoptr(GError) error = NULL;
	bool good = true;

	catch_signals();
	journal = journal_new(config->root, config->journal, config->socket, omissions_was_attached,
			      &error);
	if (!journal) {
		log_failure(error->message);
		if (g_error_matches(error, JOURNAL_ERROR, ECANCELED))
			return 0;
		return is_final(error) ? 2 : 1;
	}
	while (good && !ended)
		good = journal_work(journal, 500, &error);
	good = good && journal_flush(journal, &error);
	if (!good)
		log_failure(error->message);
	journal_free(journal);
	return !good;
}

int main(int argc, char **argv)
{
	g_autofree char *file = NULL;
	gboolean version = FALSE;
	const GOptionEntry options[] = {
		{"config", 'c', 0, G_OPTION_ARG_FILENAME, &file, "Configuration file", "FILE"},
		{"version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
		{NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new("VOLUME");
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context, "Notes what clients change on a volume.");
	g_option_context_set_description(
		context,
		"Example: migrate-journal projects\n"
		"Changes: its store, where it notes what clients change\n"
		"Exit status: 0 stopped or closed, 1 failed, 2 usage, configuration or kernel");
	g_option_context_add_main_entries(context, options, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "migrate-journal: %s; see --help\n", error->message);
		return 2;
	}
	if (version) {
		puts("migrate-journal " QUICKMIGRATE_VERSION);
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "migrate-journal: give one volume's name; see --help\n");
		return 2;
	}
	if (geteuid() != 0) {
		fprintf(stderr, "migrate-journal: must be run as root, to watch a file system\n");
		return 1;
	}
	log_begin("migrate-journal", argv[1]);
	struct volume_config *config = config_load(file, argv[1], &error);
	int status = 2;

	if (config)
		status = serve(config);
	else
		log_failure(error->message);
	config_free(config);
	return status;
}
