/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define FDS_MAX	  4
#define SPARE_FDS 16 /* above those that the child gets */

char *program_find(const char *name)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
	g_autofree char *beside = dir ? g_build_filename(dir, name, NULL) : NULL;

	if (beside && access(beside, X_OK) == 0)
		return g_steal_pointer(&beside);
	return g_build_filename(LIBEXECDIR, name, NULL);
}

static int spawn_with(pid_t *pid, const char *path, const int *fds, unsigned n)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	g_autofree char *krb5 = g_getenv("KRB5_CONFIG")
					? g_strconcat("KRB5_CONFIG=", g_getenv("KRB5_CONFIG"), NULL)
					: NULL;
	char *argv[] = {(char *)path, NULL}, *env[] = {krb5, NULL};
	int ret;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, 0, 1);
	for (unsigned i = 0; i < n; i++)
		posix_spawn_file_actions_adddup2(&actions, fds[i], PROGRAM_FIRST_FD + (int)i);
	ret = posix_spawn(pid, path, &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -ret;
}

int program_start(pid_t *pid, const char *path, const int *fds, unsigned n)
{
	int copies[FDS_MAX] = {0}, ret = n > FDS_MAX ? -EINVAL : 0;
	unsigned made;

	/* numbers beyond those that the child gets */
	for (made = 0; !ret && made < n; made++) {
		copies[made] = fcntl(fds[made], F_DUPFD_CLOEXEC, SPARE_FDS);
		if (copies[made] < 0) {
			ret = -errno;
			break;
		}
	}
	if (!ret)
		ret = spawn_with(pid, path, copies, n);
	while (made)
		close(copies[--made]);
	return ret;
}

int program_end(pid_t pid)
{
	int status = 0;
	pid_t ended;

	kill(pid, SIGKILL);
	do
		ended = waitpid(pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	return ended == pid ? status : 0;
}
