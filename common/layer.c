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
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/client.h"

#define SUFFIX	  ".doors"
#define PID_LIMIT (1 << 22) /* no process has a higher number */

#define DOORS_PATH (sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(SUFFIX))

static int doors_path(const char *socket, char path[DOORS_PATH])
{
	const int len = snprintf(path, DOORS_PATH, "%s" SUFFIX, socket);

	return len < 0 || (size_t)len >= DOORS_PATH ? -ENAMETOOLONG : 0;
}

static int open_doors(const char *socket, int flags)
{
	char path[DOORS_PATH];
	int fd = doors_path(socket, path);

	if (fd < 0)
		return fd;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/*
 * Such a lock is the process's and the file's: to close any descriptor of the file lets it go.  So
 * each file is opened once, for all volumes that are registered in it.  A child has inherited the
 * list, and no lock.
 */
struct layer_door {
	struct layer_door *next;
	dev_t device;
	ino_t inode;
	int fd;
	pid_t pid; /* that has the lock */
	unsigned volumes;
};

static struct {
	pthread_mutex_t lock; /* behind a volume's */
	struct layer_door *list;
} layer_doors = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where the byte is another's, whose number is the same in a process namespace of its own: further
 * behind. */
static int lock_number(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	for (off_t start = getpid(); start < INT_MAX; start += PID_LIMIT) {
		lock.l_start = start;
		if (fcntl(fd, F_SETLK, &lock) == 0)
			return 0;
		if (errno != EAGAIN && errno != EACCES)
			break;
	}
	return -errno;
}

/* layer_doors.lock.  The one that is open already, as stat(2) knows it. */
static struct layer_door *door_find(const char *socket)
{
	char path[DOORS_PATH];
	struct layer_door *door;
	struct stat st;

	if (doors_path(socket, path) < 0 || lstat(path, &st) < 0)
		return NULL;
	for (door = layer_doors.list; door; door = door->next)
		if (door->device == st.st_dev && door->inode == st.st_ino)
			break;
	return door;
}

/* layer_doors.lock.  NULL: errno. */
static struct layer_door *door_open(const char *socket)
{
	struct layer_door *door = calloc(1, sizeof(*door));
	struct stat st;

	if (!door)
		return NULL;
	door->fd = open_doors(socket, O_RDWR | O_CREAT);
	if (door->fd < 0 || fstat(door->fd, &st) < 0) {
		if (door->fd < 0)
			errno = -door->fd;
		else
			close(door->fd);
		free(door);
		return NULL;
	}
	door->device = st.st_dev;
	door->inode = st.st_ino;
	door->next = layer_doors.list;
	layer_doors.list = door;
	return door;
}

/* layer_doors.lock */
static void door_put(struct layer_door *door)
{
	struct layer_door **at = &layer_doors.list;

	if (!door || --door->volumes > 0)
		return;
	while (*at != door)
		at = &(*at)->next;
	*at = door->next;
	close(door->fd);
	free(door);
}

int migrate_volume_register(struct migrate_volume *volume)
{
	struct layer_door *door;
	int result = 0;

	pthread_mutex_lock(&volume->lock);
	pthread_mutex_lock(&layer_doors.lock);
	volume->serves = true;
	door = door_find(volume->addr.sun_path);
	if (!door)
		door = door_open(volume->addr.sun_path);
	if (!door) {
		result = -errno;
	} else if (door != volume->door) { /* the first time, or the file is another one now */
		door->volumes++;
		door_put(volume->door);
		volume->door = door;
	}
	if (door && door->pid != getpid()) {
		result = lock_number(door->fd);
		door->pid = result == 0 ? getpid() : 0;
	}
	pthread_mutex_unlock(&layer_doors.lock);
	pthread_mutex_unlock(&volume->lock);
	return result;
}

void layer_unregister(struct migrate_volume *volume)
{
	pthread_mutex_lock(&layer_doors.lock);
	door_put(volume->door);
	pthread_mutex_unlock(&layer_doors.lock);
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

bool migrate_lies_in(int fd, int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) == 0 && lies_in(fd, &st);
}
