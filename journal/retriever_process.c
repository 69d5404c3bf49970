/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/retriever_process.h"

#include <glib.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

struct retriever_process {
	char *socket;
	pid_t now;    /* 0: none known */
	int pidfd;    /* its, or -1 */
	pid_t before; /* one that has died, as long as there may be events of it; or 0 */
};

struct retriever_process *retriever_process_new(const char *socket)
{
	struct retriever_process *own = g_new0(struct retriever_process, 1);

	own->socket = g_strdup(socket);
	own->pidfd = -1;
	return own;
}

static void drop_process(struct retriever_process *own)
{
	if (own->pidfd >= 0)
		close(own->pidfd);
	own->pidfd = -1;
	own->now = 0;
}

void retriever_process_free(struct retriever_process *own)
{
	drop_process(own);
	g_free(own->socket);
	g_free(own);
}

/* Who listens: as root, because anybody may have made a socket where there is none. */
static pid_t listener(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool connected;

	if (fd < 0)
		return 0;
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	connected = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
	close(fd);
	return connected && cred.uid == 0 ? cred.pid : 0;
}

void retriever_process_look(struct retriever_process *own)
{
	struct pollfd ended = {.fd = own->pidfd, .events = POLLIN};
	pid_t pid;
	int pidfd;

	if (own->now && poll(&ended, 1, 0) == 0)
		return;
	if (own->now)
		own->before = own->now;
	drop_process(own);
	pid = listener(own->socket);
	pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	/* The same once more: it was alive after the pidfd was had. */
	if (pidfd >= 0 && listener(own->socket) == pid) {
		own->now = pid;
		own->pidfd = pidfd;
	} else if (pidfd >= 0) {
		close(pidfd);
	}
}

bool retriever_process_is(const struct retriever_process *own, pid_t pid)
{
	return pid > 0 && (pid == own->now || pid == own->before);
}

void retriever_process_read_all(struct retriever_process *own)
{
	own->before = 0;
}
