/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which processes serve a volume through the layer.  Each locks (fcntl(2)) the byte of its number
 * in a file beside the socket, which is root's alone.  The kernel knows the holder, and lets the
 * lock go when that ends, however it ends; neither retriever nor guard needs to run for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/client.h"

#define SUFFIX ".doors"

static int open_doors(const char *socket, int flags)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(SUFFIX)];
	const int len = snprintf(path, sizeof(path), "%s" SUFFIX, socket);
	int fd;

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

int migrate_volume_register(struct migrate_volume *volume)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int result = 0, fd;

	pthread_mutex_lock(&volume->lock);
	volume->serves = true;
	if (volume->doors_fd < 0) {
		fd = open_doors(volume->addr.sun_path, O_RDWR | O_CREAT);
		lock.l_start = getpid();
		if (fd < 0) {
			result = fd;
		} else if (fcntl(fd, F_SETLK, &lock) < 0) {
			result = -errno;
			close(fd);
		} else {
			volume->doors_fd = fd;
		}
	}
	pthread_mutex_unlock(&volume->lock);
	return result;
}

/* The processes that hold locks of [start, end), until one is to be the last.  The kernel names any
 * of them first. */
static bool each_holder(int fd, off_t start, off_t end, migrate_door_fn each, void *arg)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = end - start};

	if (start >= end || fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return true;
	return each(arg, lock.l_pid) && each_holder(fd, start, lock.l_start, each, arg) &&
	       each_holder(fd, lock.l_start + 1, end, each, arg);
}

void migrate_each_door(const char *socket, migrate_door_fn each, void *arg)
{
	const int fd = open_doors(socket, O_RDONLY);

	if (fd < 0)
		return;
	each_holder(fd, 0, INT_MAX, each, arg);
	close(fd);
}

struct door_search {
	pid_t pid;
	bool found;
};

static bool is_door(void *arg, pid_t pid)
{
	struct door_search *search = arg;

	search->found = pid == search->pid;
	return !search->found;
}

bool migrate_is_door(const char *socket, pid_t pid)
{
	struct door_search search = {.pid = pid};
	const int fd = pid > 0 ? open_doors(socket, O_RDONLY) : -1;

	if (fd < 0)
		return false;
	each_holder(fd, pid, pid + 1, is_door, &search);
	/* In a process namespace of its own it has another number there. */
	if (!search.found)
		each_holder(fd, 0, INT_MAX, is_door, &search);
	close(fd);
	return search.found;
}

/* Whether the directory is the one of st, or somewhere in it. */
static bool lies_in(int dir_fd, const struct stat *st)
{
	struct stat here, last = {0};
	int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;

	while (fd >= 0 && fstat(fd, &here) == 0 &&
	       (here.st_dev != last.st_dev || here.st_ino != last.st_ino)) {
		if (here.st_dev == st->st_dev && here.st_ino == st->st_ino) {
			close(fd);
			return true;
		}
		last = here;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

bool migrate_overlap(int a, int b)
{
	struct stat st_a, st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 &&
	       (lies_in(a, &st_b) || lies_in(b, &st_a));
}
