/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

int scratch_file(int dir_fd)
{
	g_autofree char *name = NULL;
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	name = g_strdup_printf(SCRATCH_PREFIX "%08x", g_random_int());
	fd = openat(dir_fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlinkat(dir_fd, name, 0);
	return fd;
}
