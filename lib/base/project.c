/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"

struct project project_of(int dir_fd)
{
	struct fsxattr attr;

	if (ioctl(dir_fd, FS_IOC_FSGETXATTR, &attr) < 0 ||
	    !(attr.fsx_xflags & FS_XFLAG_PROJINHERIT))
		return (struct project){false, 0};
	return (struct project){true, attr.fsx_projid};
}

bool project_admits(int to_fd, int from_fd)
{
	const struct project to = project_of(to_fd), from = project_of(from_fd);

	return !to.inherited || to.id == from.id;
}

/* Only where it differs: the ctime moves.  0 or -errno. */
static int set_project(int fd, struct project project, bool directory)
{
	const uint32_t flag = project.inherited && directory ? FS_XFLAG_PROJINHERIT : 0;
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return -errno;
	if (attr.fsx_projid == project.id && (attr.fsx_xflags & FS_XFLAG_PROJINHERIT) == flag)
		return 0;
	attr.fsx_projid = project.id;
	attr.fsx_xflags = (attr.fsx_xflags & ~(uint32_t)FS_XFLAG_PROJINHERIT) | flag;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attr) < 0 ? -errno : 0;
}

int project_stop(int dir_fd)
{
	const struct project is = project_of(dir_fd);

	return is.inherited ? set_project(dir_fd, (struct project){false, is.id}, true) : 0;
}

static int give_one(void *arg, const struct own_entry *entry)
{
	const bool directory = S_ISDIR(entry->st->st_mode);
	int fd, ret;

	if (!S_ISREG(entry->st->st_mode) && !directory)
		return 0;
	fd = openat(entry->dir_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = set_project(fd, *(const struct project *)arg, directory);
	close(fd);
	return ret;
}

int project_give(int dir_fd, const char *name, struct project project)
{
	return own_walk(dir_fd, name, give_one, &project);
}

int project_rename(int from_fd, const char *name, int to_fd, const char *as, unsigned flags)
{
	struct project project = {0};
	int dir, ret = renameat2(from_fd, name, to_fd, as, flags) < 0 ? -errno : 0;

	if (ret != -EXDEV)
		return ret;
	dir = openat(to_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		project = project_of(dir);
		close(dir);
	}
	ret = project.inherited ? project_give(from_fd, name, project) : -EXDEV;
	return ret ? ret : renameat2(from_fd, name, to_fd, as, flags) < 0 ? -errno : 0;
}

int project_stage(int staging_fd, int dir_fd)
{
	const struct project project = project_of(dir_fd);
	char name[32];
	int fd, ret;

	if (!project.inherited)
		return staging_fd;
	snprintf(name, sizeof name, "project-%u", project.id);
	if (mkdirat(staging_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(staging_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ret = fd < 0 ? -errno : set_project(fd, project, true);
	if (ret && fd >= 0)
		close(fd);
	return ret ? ret : fd;
}
