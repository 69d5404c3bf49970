/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/last_error.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "retriever/progress/limits_set.h"
#include "retriever/start.h"

static gboolean on_signal(gpointer arg)
{
	struct retriever *retriever = arg;

	g_atomic_int_set(&retriever->reopen, 0);
	g_main_loop_quit(retriever->loop);
	return G_SOURCE_CONTINUE;
}

static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* An old server that is away keeps us from listening for as long as it may take to answer. */
static void say_asked(const struct volume_config *config)
{
	g_autofree char *before = last_error_get(config->socket);
	g_autofree char *text =
		g_strdup_printf("%s has not answered yet, and is asked again", config->source);

	if (!before)
		last_error_set(config->socket, text);
}

/* again: it was open before in this process; then whether a command asked for a new start. */
static int serve_retriever(const char *file, const char *socket, const char *name,
			   struct limits_set *orders, bool *again)
{
	g_autoptr(GError) error = NULL;
	struct volume_config *config = config_load(file, name, &error);
	struct retriever *retriever;

	if (config && socket) {
		g_free(config->socket);
		config->socket = g_strdup(socket);
	}
	if (!config) {
		log_failure(error->message);
		return 2;
	}
	g_autofree char *listens = g_strdup(config->socket);
	if (!*again)
		say_asked(config);
	retriever = retriever_open(config, &error);
	last_error_set(listens, retriever ? NULL : error->message);
	if (!retriever) {
		log_failure(error->message);
		return g_error_matches(error, ERRNO_ERROR, EKEYREJECTED) ? 2 : 1;
	}
	if (*again)
		limits_set_follow(retriever, orders);
	*again = false;
	guint signals[] = {g_unix_signal_add(SIGTERM, on_signal, retriever),
			   g_unix_signal_add(SIGINT, on_signal, retriever)};
	g_main_loop_run(retriever->loop);
	for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
		g_source_remove(signals[i]);
	*again = g_atomic_int_get(&retriever->reopen);
	*orders = limits_set_get(retriever);
	retriever_close(retriever);
	return 0;
}

/* Each thread may have memory of its own that others cannot use: 28 MiB were resident where 19 were
 * needed.  What is as large as a directory of a million names goes back when it is freed. */
static void limit_memory(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
}

int main(int argc, char **argv)
{
	g_autofree char *file = NULL, *socket = NULL;
	gboolean version = FALSE;
	struct limits_set orders = {0};
	bool again = false;
	int status;
	const GOptionEntry options[] = {
		{"config", 'c', 0, G_OPTION_ARG_FILENAME, &file, "Configuration file", "FILE"},
		{"socket", 's', 0, G_OPTION_ARG_FILENAME, &socket, "Listen on this socket", "PATH"},
		{"version", 'V', 0, G_OPTION_ARG_NONE, &version, "Print the version", NULL},
		{NULL}};
	g_autoptr(GOptionContext) context = g_option_context_new("VOLUME");
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context, "Brings a volume's data from the old server.");
	g_option_context_set_description(
		context,
		"Example: migrate-retriever --config=/root/try.conf projects\n"
		"Changes: the tree of the volume: it makes objects, and fills them\n"
		"Exit status: 0 ended by a signal, 1 failed, 2 usage, configuration or password");
	g_option_context_add_main_entries(context, options, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error)) {
		fprintf(stderr, "migrate-retriever: %s; see --help\n", error->message);
		return 2;
	}
	if (version) {
		puts("migrate-retriever " QUICKMIGRATE_VERSION);
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "migrate-retriever: give one volume's name; see --help\n");
		return 2;
	}
	if (geteuid() != 0) {
		fprintf(stderr,
			"migrate-retriever: must be run as root, to own the files it makes\n");
		return 1;
	}
	umask(0);
	signal(SIGPIPE, SIG_IGN);
	raise_limits();
	limit_memory();
	log_begin("migrate-retriever", argv[1]);
	if (!thread_prepare())
		g_message("RLIMIT_NICE cannot be raised: set LimitNICE=+0, or clients compete for "
			  "processors with the crawler's work");
	do {
		status = serve_retriever(file, socket, argv[1], &orders, &again);
	} while (again);
	return status;
}
