/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/keeper.h"

#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/protocol.h"

#define TURN_MS 1000
#define FIRST	100 /* of the descriptors, there; above those that a guard has when it starts one */

bool keeper_is_needed(void)
{
	return getenv("NOTIFY_SOCKET") && !getenv("FDSTORE");
}

static struct flock whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static pid_t holder(int fd)
{
	struct flock lock = whole_file();

	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? lock.l_pid : 0;
}

/* The keeper that runs; -1: none. */
static int find_keeper(const char *path)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	const pid_t pid = fd < 0 ? 0 : holder(fd);
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	/* The same once more: it was alive after the pidfd was had. */
	if (pidfd >= 0 && holder(fd) != pid) {
		close(pidfd);
		pidfd = -1;
	}
	if (fd >= 0)
		close(fd);
	return pidfd;
}

/* A socket that is bound, or connected, beside path; -1: none. */
static int door(const char *path, int (*to)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s.fd", path);
	int sock;

	if (len >= (int)sizeof(address.sun_path))
		return -1;
	if (to == bind)
		unlink(address.sun_path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0 || to(sock, (struct sockaddr *)&address, sizeof(address)) == 0)
		return sock;
	close(sock);
	return -1;
}

/* The keeper sends all that it has, one after the other. */
static int receive(const char *path, unsigned n)
{
	const struct timeval limit = {.tv_sec = 5}; /* one that is frozen is not waited for */
	const int sock = door(path, connect);
	uint8_t data[256];
	int fd = -1;

	if (sock >= 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (unsigned i = 0; sock >= 0 && i <= n; i++) {
		int fds[MIGRATE_FRAME_MAX_FDS];
		size_t count;
		const bool got =
			migrate_frame_recv(sock, data, sizeof(data), fds, &count) > 0 && count == 1;

		if (got && i == n)
			fd = fds[0];
		else if (got)
			close(fds[0]);
	}
	if (sock >= 0)
		close(sock);
	return fd;
}

/* Where it is asked by its socket, no kernel.yama.ptrace_scope matters. */
int keeper_get(const char *path, unsigned n)
{
	const int pidfd = find_keeper(path);
	int fd = pidfd < 0 ? -1 : receive(path, n);

	if (pidfd >= 0 && fd < 0)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, FIRST + n, 0);
	if (pidfd >= 0)
		close(pidfd);
	return fd;
}

bool keeper_end(const char *path)
{
	const int pidfd = find_keeper(path);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return false;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (poll(&ended, 1, -1) < 0)
		;
	close(pidfd);
	return true;
}

/* To root alone. */
static void hand_over(int sock, unsigned n)
{
	const struct migrate_frame frame = {.op = MIGRATE_OP_HELLO};
	const int peer = accept4(sock, NULL, NULL, SOCK_CLOEXEC);

	for (unsigned i = 0; peer >= 0 && i < n; i++) {
		const int fd = FIRST + (int)i;

		migrate_frame_send(peer, &frame, &fd, fcntl(fd, F_GETFD) >= 0);
	}
	if (peer >= 0)
		close(peer);
}

/* The lock goes with the process, and where it closes the file. */
_Noreturn static void keep(const char *path, const int *fds, unsigned n, int ready,
			   keeper_turn_fn turn, void *arg)
{
	struct flock lock = whole_file();
	struct pollfd *polled = g_new0(struct pollfd, n + 1); /* the socket last */
	bool at_once = false;
	int fd, sock;

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_NAME, "guard-keeper");
	setsid();
	for (unsigned i = 0; i < n; i++)
		if (fds[i] >= 0 && dup2(fds[i], FIRST + (int)i) < 0)
			_exit(1);
	if (dup2(ready, FIRST + (int)n) < 0)
		_exit(1);
	close_range(turn ? STDERR_FILENO + 1 : 0, FIRST - 1, 0); /* what it does it may log */
	close_range(FIRST + n + 1, UINT_MAX, 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0)
		_exit(1);
	umask(0177);
	sock = door(path, bind);
	if ((sock >= 0 && listen(sock, 1) < 0) || write(FIRST + (int)n, "", 1) != 1)
		_exit(1);
	close(FIRST + (int)n);
	polled[n] = (struct pollfd){.fd = sock, .events = POLLIN};
	for (;;) {
		for (unsigned i = 0; i < n; i++)
			polled[i] =
				(struct pollfd){.fd = at_once && fds[i] >= 0 ? FIRST + (int)i : -1,
						.events = POLLIN};
		if (poll(polled, n + 1, turn ? TURN_MS : -1) > 0 && polled[n].revents)
			hand_over(sock, n);
		if (turn)
			at_once = turn(arg, FIRST);
	}
}

bool keeper_start(const char *path, const int *fds, unsigned n, keeper_turn_fn turn, void *arg)
{
	int ready[2];
	char byte;
	bool done;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		keep(path, fds, n, ready[1], turn, arg);
	close(ready[1]);
	done = pid > 0 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return done;
}
