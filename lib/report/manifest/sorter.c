/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/manifest/sorter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

struct proof_sorter {
	FILE *to, *from; /* to: NULL once all lines were added */
	GPid pid;	 /* 0: it has ended */
	char *line;
	size_t room;
};

static gboolean set_sort_error(GError **error, const char *what)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "sort: %s: %s", what,
		    g_strerror(errno));
	return FALSE;
}

struct proof_sorter *proof_sorter_new(const char *directory, GError **error)
{
	g_autofree char *zstd = g_find_program_in_path("zstd");
	const char *argv[] = {"sort",
			      "--stable",
			      "--field-separator= ",
			      "--key=1,1",
			      "--buffer-size=64M",
			      "--temporary-directory",
			      directory,
			      zstd ? "--compress-program=zstd" : NULL,
			      NULL};
	g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "LC_ALL", "C", TRUE);
	struct proof_sorter *sorter = g_new0(struct proof_sorter, 1);
	int to, from;

	if (!g_spawn_async_with_pipes(NULL, (char **)argv, environment,
				      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
				      &sorter->pid, &to, &from, NULL, error)) {
		g_free(sorter);
		return NULL;
	}
	sorter->to = fdopen(to, "w");
	sorter->from = fdopen(from, "r");
	return sorter;
}

gboolean proof_sorter_add(struct proof_sorter *sorter, const char *line, gsize len, GError **error)
{
	return fwrite(line, 1, len, sorter->to) == len ||
	       set_sort_error(error, "a line cannot be sorted");
}

static gboolean end_input(struct proof_sorter *sorter, GError **error)
{
	FILE *to = g_steal_pointer(&sorter->to);

	return fclose(to) == 0 || set_sort_error(error, "the lines cannot be sorted");
}

/* Whether sort(1) ended well, so that all lines are there. */
static gboolean end_sorter(struct proof_sorter *sorter, GError **error)
{
	int status = 0;

	if (sorter->pid && waitpid(sorter->pid, &status, 0) < 0)
		status = -1;
	sorter->pid = 0;
	if (!status)
		return TRUE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "sort ended with status %d: is there space for its temporary files?", status);
	return FALSE;
}

const char *proof_sorter_next(struct proof_sorter *sorter, gsize *len, GError **error)
{
	ssize_t got;

	*len = 0;
	if (sorter->to && !end_input(sorter, error))
		return NULL;
	got = getline(&sorter->line, &sorter->room, sorter->from);
	if (got <= 0) {
		end_sorter(sorter, error);
		return NULL;
	}
	if (sorter->line[got - 1] == '\n')
		sorter->line[--got] = '\0';
	*len = got;
	return sorter->line;
}

void proof_sorter_free(struct proof_sorter *sorter)
{
	if (!sorter)
		return;
	if (sorter->pid)
		kill(sorter->pid, SIGTERM);
	if (sorter->to)
		fclose(sorter->to);
	fclose(sorter->from);
	end_sorter(sorter, NULL);
	free(sorter->line);
	g_free(sorter);
}
