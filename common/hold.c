/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/migrate.h"

#define PAUSE_NS 1000000

int migrate_lock_directory(int dir_fd, enum migrate_lock_directory hold,
			   const struct timespec *deadline)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int operation = (hold == MIGRATE_HOLD_ALONE ? LOCK_EX : LOCK_SH) | LOCK_NB;
	/* a lock belongs to an open file, and dir_fd's may be another's too */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	while (flock(fd, operation) < 0) {
		err = errno;
		if (err == EWOULDBLOCK && !migrate_passed(deadline)) {
			nanosleep(&pause, NULL);
		} else if (err != EINTR) {
			close(fd);
			return -err;
		}
	}
	return fd;
}
