/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/live.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t journal_boottime(void)
{
	return now(CLOCK_BOOTTIME);
}

int64_t journal_realtime(void)
{
	return now(CLOCK_REALTIME);
}

static int open_live(const char *dir, int flags)
{
	g_autofree char *path = g_build_filename(dir, JOURNAL_LIVE_FILE, NULL);
	int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static bool load_live(int fd, struct journal_live *live)
{
	return pread(fd, live, sizeof(*live), 0) == sizeof(*live) &&
	       live->magic == JOURNAL_LIVE_MAGIC &&
	       memchr(live->unread_path, 0, sizeof(live->unread_path));
}

int journal_live_hold(const char *dir, struct journal_live *live)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open_live(dir, O_RDWR | O_CREAT), ret = 0;

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		ret = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	else
		ret = -posix_fallocate(fd, 0, sizeof(*live));
	if (ret) {
		close(fd);
		return ret;
	}
	if (!load_live(fd, live))
		memset(live, 0, sizeof(*live));
	live->magic = JOURNAL_LIVE_MAGIC;
	live->scanning = live->looked_at = 0;
	live->settled = live->scanned = 0;
	live->unread = 0;
	ret = journal_live_put(fd, live);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int journal_live_put(int fd, const struct journal_live *live)
{
	ssize_t n = pwrite(fd, live, sizeof(*live), 0);

	return n == sizeof(*live) ? 0 : n < 0 ? -errno : -EIO;
}

pid_t journal_live_get(const char *dir, struct journal_live *live)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct journal_live none;
	int fd = open_live(dir, O_RDONLY), ret;

	if (fd < 0)
		return fd;
	if (!load_live(fd, live ? live : &none))
		ret = -EINVAL;
	else if (fcntl(fd, F_GETLK, &lock) < 0)
		ret = -errno;
	else
		ret = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
	close(fd);
	return ret;
}

int64_t journal_live_gap(const struct journal_live *live, int64_t gap, uint64_t gaps)
{
	return live->unread && live->part_of == gaps ? live->later : gap;
}
