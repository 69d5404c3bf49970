/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smb_secret.h"

#define MEMORY	  ((size_t)WIRE_SLOTS * WIRE_SLOT_BYTES)
#define SPARE_FDS 16 /* above those that the worker gets */

/* Of the build that this program is of: beside it, or where it is installed. */
static char *find_program(const char *name)
{
	const char *given = g_getenv("MIGRATE_SMB_WORKER");
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;
	char *beside;

	if (given)
		return g_strdup(given);
	beside = dir ? g_build_filename(dir, name, NULL) : NULL;
	if (beside && access(beside, X_OK) == 0)
		return beside;
	g_free(beside);
	return g_build_filename(LIBEXECDIR, name, NULL);
}

/* A descriptor that is none of those that the child gets. */
static int move_up(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, SPARE_FDS);

	close(fd);
	return moved;
}

/* Sealed: a worker that makes it smaller would kill whoever looks into it. */
static int make_memory(uint8_t **memory)
{
	int fd = memfd_create("migrate-smb", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	fd = move_up(fd);
	*memory = MAP_FAILED;
	if (ftruncate(fd, MEMORY) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		*memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	close(fd);
	return -1;
}

static int spawn_worker(pid_t *pid, const char *program, int sock, int memory)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	g_autofree char *krb5 = g_getenv("KRB5_CONFIG")
					? g_strconcat("KRB5_CONFIG=", g_getenv("KRB5_CONFIG"), NULL)
					: NULL;
	char *argv[] = {(char *)program, NULL}, *env[] = {krb5, NULL};
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
	posix_spawn_file_actions_adddup2(&actions, sock, WIRE_SOCKET_FD);
	posix_spawn_file_actions_adddup2(&actions, memory, WIRE_MEMORY_FD);
	ret = posix_spawn(pid, program, &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -ret;
}

int smb_worker_start(struct smb_worker *worker, const char *name, const struct wire_start *start)
{
	g_autofree char *program = find_program(name);
	struct wire_pack pack;
	int socks[2], memory, ret;

	memory = make_memory(&worker->memory);
	if (memory < 0)
		return -errno;
	pack = (struct wire_pack){worker->memory, worker->memory + WIRE_SLOT_BYTES};
	ret = wire_start_put(&pack, start) ? 0 : -E2BIG;
	if (!ret && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		ret = -errno;
	if (!ret) {
		socks[1] = move_up(socks[1]);
		ret = spawn_worker(&worker->pid, program, socks[1], memory);
		close(socks[1]);
		worker->sock = socks[0];
		if (ret)
			close(socks[0]);
		else
			fcntl(worker->sock, F_SETFL, O_NONBLOCK);
	}
	close(memory);
	if (ret)
		munmap(worker->memory, MEMORY);
	return ret;
}

int smb_worker_log_on(struct smb_worker *worker, const char *name, const struct smb_config *config,
		      const struct smb_url *url, unsigned stall_ms, GError **error)
{
	struct smb_secret secret;
	int ret;

	if (!smb_secret_get(config, url, &secret, error))
		return -EACCES;
	const struct wire_start start = {.port = url->port,
					 .host = url->host,
					 .share = url->share,
					 .path = url->path,
					 .user = url->user,
					 .domain = *url->domain ? url->domain : config->domain,
					 .encryption = config->encryption,
					 .signing = config->signing,
					 .stall_ms = stall_ms,
					 .password = secret.password,
					 .ccache = secret.ccache,
					 .ccache_len = secret.ccache_len};
	ret = smb_worker_start(worker, name, &start);
	smb_secret_clear(&secret);
	return ret;
}

int smb_worker_end(struct smb_worker *worker)
{
	int status = 0;
	pid_t pid;

	kill(worker->pid, SIGKILL); /* first, or it may end by itself */
	close(worker->sock);
	do
		pid = waitpid(worker->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	munmap(worker->memory, MEMORY);
	return pid == worker->pid ? status : 0;
}
