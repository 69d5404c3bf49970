/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/fetch_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/scratch_file.h"
#include "lib/base/write_fully.h"

#define HEAD "quickmigrate-fetch 1 %d %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n"

bool fetch_list_load(int fd, struct fetch_list *list)
{
	char head[FETCH_LIST_HEAD];

	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		return false;
	head[sizeof(head) - 1] = '\0';
	return sscanf(head, HEAD, &list->names_only, &list->since, &list->paths, &list->done,
		      &list->failed) == 5;
}

int fetch_list_save(int fd, const struct fetch_list *list)
{
	char head[FETCH_LIST_HEAD] = "";

	snprintf(head, sizeof(head), HEAD, list->names_only, list->since, list->paths, list->done,
		 list->failed);
	return write_fully(fd, head, sizeof(head), 0);
}

/* Without a name, or, where the file system has no such files, beside the directory: *staged, which
 * a crash may leave. */
static int open_new(int dir_fd, char **staged)
{
	int fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	*staged = g_strdup_printf("../" SCRATCH_PREFIX "%08x", g_random_int());
	return openat(dir_fd, *staged, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int fetch_list_add(const char *directory, const struct fetch_list *list, const GString *paths,
		   unsigned *number)
{
	int dir_fd = mkdir(directory, 0700) && errno != EEXIST
			     ? -1
			     : open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	g_autofree char *staged = NULL, *link = NULL;
	int fd = dir_fd < 0 ? -1 : open_new(dir_fd, &staged);
	int ret = fd < 0 ? -errno : fetch_list_save(fd, list);

	link = g_strdup_printf("/proc/self/fd/%d", fd);
	if (!ret)
		ret = write_fully(fd, paths->str, paths->len, FETCH_LIST_HEAD);
	if (!ret && fsync(fd))
		ret = -errno;
	for (*number = 1; !ret; ++*number) {
		g_autofree char *name = g_strdup_printf("%u", *number);

		if (!(staged ? renameat2(dir_fd, staged, dir_fd, name, RENAME_NOREPLACE)
			     : linkat(AT_FDCWD, link, dir_fd, name, AT_SYMLINK_FOLLOW)))
			break;
		ret = errno == EEXIST ? 0 : -errno;
	}
	if (ret && staged)
		unlinkat(dir_fd, staged, 0);
	if (!ret && fsync(dir_fd))
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	return ret;
}
