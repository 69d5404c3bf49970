/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "guard/guard.h"
#include "guard/keep.h"
#include "lib/base/text.h"
#include "lib/config/attached.h"
#include "lib/config/config.h"

static struct guard *volatile guard;

static void on_signal(int number)
{
	const int saved = errno;

	if (guard)
		guard_stop(guard);
	else
		_exit(0);
	errno = saved;
}

static void print_message(const char *message)
{
	g_autofree char *line = text_line(message);

	fprintf(stderr, "migrate-guard: %s\n", line);
}

static void log_line(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
	print_message(message);
}

static int serve(const struct volume_config *config, bool refuse)
{
	g_autoptr(GError) error = NULL;

	if (config->guard == GUARD_NO) {
		guard_remove(config);
		keep_tell("READY=1", NULL, -1);
		print_message(
			"guard = no: whoever reads unfinished files on this machine gets zeros");
		return 0;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	guard = guard_new(config, refuse, &error);
	if (!guard) {
		print_message(error->message);
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INVAL) ? 2 : 1;
	}
	while (guard_turn(guard, &error))
		;
	if (error)
		print_message(error->message);
	guard_free(guard);
	return error != NULL;
}

int main(int argc, char **argv)
{
	g_autofree char *file = NULL;
	gboolean version = FALSE, refuse = FALSE;
	const GOptionEntry options[] = {
		{"config", 'c', 0, G_OPTION_ARG_FILENAME, &file, "Configuration file", "FILE"},
		{"refuse", 0, 0, G_OPTION_ARG_NONE, &refuse,
		 "Refuse unfinished files instead of fetching them", NULL},
		{"version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
		{NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new("VOLUME");
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(
		context,
		"Lets programs of this machine see a volume's files or an error, no holes.");
	g_option_context_set_description(
		context,
		"Example: migrate-guard projects\n"
		"Changes: nothing on disk; programs of this machine wait, or are refused\n"
		"Exit status: 0 stopped or not wanted, 1 failed, 2 usage, configuration or kernel");
	g_option_context_add_main_entries(context, options, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "migrate-guard: %s; see --help\n", error->message);
		return 2;
	}
	if (version) {
		puts("migrate-guard " QUICKMIGRATE_VERSION);
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "migrate-guard: give one volume's name; see --help\n");
		return 2;
	}
	if (geteuid() != 0) {
		fprintf(stderr, "migrate-guard: must be run as root, to watch a file system\n");
		return 1;
	}
	g_log_set_default_handler(log_line, NULL);
	struct volume_config *config = config_load(file, argv[1], &error);
	int status = 2;

	if (!config) {
		print_message(error->message);
		config = file ? NULL : attached_config(argv[1]);
		refuse = true;
		if (config)
			g_message("what is unfinished in %s is refused until then: systemctl "
				  "restart migrate-guard@%s when the configuration is right",
				  config->root, config->name);
	}
	if (config)
		status = serve(config, refuse);
	config_free(config);
	return status;
}
