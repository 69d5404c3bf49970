/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/source/smb/smb_secret.h"

#define MEMORY ((size_t)WIRE_SLOTS * WIRE_SLOT_BYTES)

_Static_assert(WIRE_SOCKET_FD == PROGRAM_FIRST_FD && WIRE_MEMORY_FD == PROGRAM_FIRST_FD + 1,
	       "the order of program_start()");

/* Sealed: a worker that made it smaller would kill the process that reads it. */
static int make_memory(uint8_t **memory)
{
	int fd = memfd_create("migrate-smb", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	*memory = MAP_FAILED;
	if (ftruncate(fd, MEMORY) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		*memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	close(fd);
	return -1;
}

int smb_worker_start(struct smb_worker *worker, const char *name, const struct wire_start *start)
{
	const char *given = g_getenv("MIGRATE_SMB_WORKER");
	g_autofree char *program = given ? g_strdup(given) : program_find(name);
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
		ret = program_start(&worker->pid, program, (const int[]){socks[1], memory}, 2);
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
					 .domain = smb_domain(config, url),
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
	int status;

	status = program_end(worker->pid); /* before it can end by itself */
	close(worker->sock);
	munmap(worker->memory, MEMORY);
	return status;
}
