/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "keeper.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST 100 /* of the descriptors, there; above those that a guard has when it starts one */

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
static int find(const char *path)
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

int keeper_get(const char *path, unsigned n)
{
	const int pidfd = find(path);
	const int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, FIRST + n, 0);

	if (pidfd >= 0)
		close(pidfd);
	return fd;
}

void keeper_end(const char *path)
{
	const int pidfd = find(path);
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (poll(&ended, 1, -1) < 0)
		;
	close(pidfd);
}

/* The lock goes with the process, and where it closes the file. */
_Noreturn static void keep(const char *path, const int *fds, unsigned n, int ready)
{
	struct flock lock = whole_file();
	int fd;

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_NAME, "guard-keeper");
	setsid();
	for (unsigned i = 0; i < n; i++)
		if (fds[i] >= 0 && dup2(fds[i], FIRST + (int)i) < 0)
			_exit(1);
	if (dup2(ready, FIRST + (int)n) < 0)
		_exit(1);
	close_range(0, FIRST - 1, 0);
	close_range(FIRST + n + 1, UINT_MAX, 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(FIRST + (int)n, "", 1) != 1)
		_exit(1);
	close(FIRST + (int)n);
	for (;;)
		pause();
}

bool keeper_start(const char *path, const int *fds, unsigned n)
{
	int ready[2];
	char byte;
	bool done;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		keep(path, fds, n, ready[1]);
	close(ready[1]);
	done = pid > 0 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return done;
}
