/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"

#define NO_XATTR MIGRATE_XATTR ".none" /* which nothing has */

/* A file system that is watched, for as long as the process is there. */
struct watched {
	struct watched *next;
	dev_t dev;
	int errors; /* of migrate_mount_errors() */
	/* of when it was watched last */
	atomic_ulong count;
	atomic_bool damaged;
};

static _Atomic(struct watched *) list;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

/* 0 also where it cannot be read. */
static unsigned long errors_count(int errors)
{
	char text[24] = "";

	return errors >= 0 && pread(errors, text, sizeof(text) - 1, 0) > 0 ? strtoul(text, NULL, 10)
									   : 0;
}

bool migrate_errors_counted(int errors)
{
	return errors_count(errors) != 0;
}

/* Removing nothing takes a transaction. */
static bool takes_no_changes(int fd)
{
	return fremovexattr(fd, NO_XATTR) < 0 && (errno == EROFS || errno == EIO);
}

static struct watched *find_watched(dev_t dev)
{
	struct watched *w = atomic_load(&list);

	while (w && w->dev != dev)
		w = w->next;
	return w;
}

static void note_state(struct watched *w, int fd)
{
	unsigned long count = errors_count(w->errors);

	atomic_store(&w->damaged, count && takes_no_changes(fd));
	atomic_store(&w->count, count);
}

static int add_watched(int fd, dev_t dev, int errors)
{
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->next = atomic_load(&list);
	w->dev = dev;
	w->errors = errors;
	note_state(w, fd);
	atomic_store(&list, w);
	return 0;
}

/* It may be another mount of it. */
static int renew_watched(struct watched *w, int fd, int errors)
{
	int ret = dup3(errors, w->errors, O_CLOEXEC) < 0 ? -errno : 0;

	close(errors);
	if (ret == 0)
		note_state(w, fd);
	return ret;
}

int migrate_watch(int fd)
{
	int errors = migrate_mount_errors(fd), ret;
	struct watched *w;
	struct stat st;

	if (errors < 0)
		return 0;
	if (fstat(fd, &st) < 0) {
		ret = -errno;
		close(errors);
		return ret;
	}
	pthread_mutex_lock(&adding);
	w = find_watched(st.st_dev);
	ret = w ? renew_watched(w, fd, errors) : add_watched(fd, st.st_dev, errors);
	pthread_mutex_unlock(&adding);
	if (ret == -ENOMEM)
		close(errors);
	return ret;
}

bool migrate_damaged(int fd)
{
	struct watched *w;
	struct stat st;

	for (w = atomic_load(&list); w; w = w->next) {
		unsigned long count = errors_count(w->errors);

		if ((atomic_load(&w->damaged) || (count && count != atomic_load(&w->count))) &&
		    fstat(fd, &st) == 0 && st.st_dev == w->dev)
			return true;
	}
	return false;
}
