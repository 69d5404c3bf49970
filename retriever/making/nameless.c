/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/nameless.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/project.h"

#define HOW (O_RDWR | O_CLOEXEC | O_NOATIME)

void nameless_stage(struct retriever *retriever, char name[NAMELESS_LEN])
{
	g_snprintf(name, NAMELESS_LEN, "%d", g_atomic_int_add(&retriever->staging_serial, 1));
}

int nameless_make(struct nameless *file, struct retriever *retriever, int dir_fd, mode_t mode)
{
	int staging, fd;

	*file = (struct nameless){.stage_fd = -1};
	if (capabilities_has(&retriever->capabilities, CAPABILITY_NAMELESS)) {
		fd = openat(dir_fd, ".", O_TMPFILE | HOW, mode);
		return fd < 0 ? -errno : fd;
	}
	staging = retriever->staging_fd;
	file->stage_fd = project_stage(staging, dir_fd);
	file->closes = file->stage_fd != staging;
	if (file->stage_fd < 0)
		return file->stage_fd;
	do {
		nameless_stage(retriever, file->name);
		fd = openat(file->stage_fd, file->name, O_CREAT | O_EXCL | HOW, mode);
	} while (fd < 0 && errno == EEXIST); /* a start could not remove it */
	return fd < 0 ? -errno : fd;
}

int nameless_name(struct nameless *file, int fd, int dir_fd, const char *as)
{
	if (!*file->name)
		return linkat(fd, "", dir_fd, as, AT_EMPTY_PATH) < 0 ? -errno : 0;
	if (renameat2(file->stage_fd, file->name, dir_fd, as, RENAME_NOREPLACE) < 0)
		return -errno;
	*file->name = '\0';
	return 0;
}

void nameless_end(struct nameless *file)
{
	if (*file->name)
		unlinkat(file->stage_fd, file->name, 0);
	if (file->closes && file->stage_fd >= 0)
		close(file->stage_fd);
}
