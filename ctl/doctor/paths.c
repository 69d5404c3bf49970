/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/paths.h"

#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the process of its own: a byte for each.  The second call is not answered by a cache. */
static void look_at_paths(const char *const *paths, int out)
{
	struct stat st;
	struct statvfs vfs;

	for (; *paths; paths++) {
		if (stat(*paths, &st) == 0)
			statvfs(*paths, &vfs);
		if (write(out, "", 1) < 0)
			break;
	}
	_exit(0);
}

/* How many answer, before one that does not. */
static unsigned count_answers(const char *const *paths, unsigned wait_ms)
{
	unsigned n = 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	const pid_t pid = fork();
	if (!pid)
		look_at_paths(paths, ends[1]);
	close(ends[1]);
	for (struct pollfd ready = {.fd = ends[0], .events = POLLIN};
	     pid > 0 && poll(&ready, 1, (int)wait_ms) > 0 && read(ends[0], &(char){0}, 1) == 1;)
		n++;
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, paths[n] ? WNOHANG : 0); /* the kernel may hold it */
	}
	return n;
}

const char *paths_find_silent(const char *const *paths, unsigned wait_ms)
{
	static GHashTable *asked; /* whether it answered */

	if (!asked)
		asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (; *paths; paths++) {
		if (!g_hash_table_contains(asked, *paths)) {
			const unsigned n = count_answers(paths, wait_ms);

			for (unsigned i = 0; i <= n && paths[i]; i++)
				g_hash_table_insert(asked, g_strdup(paths[i]),
						    GINT_TO_POINTER(i < n));
		}
		if (!g_hash_table_lookup(asked, *paths))
			return *paths;
	}
	return NULL;
}
