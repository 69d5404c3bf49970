/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/retriever.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "lib/source/gate.h"

bool retriever_clients_wait(struct retriever *retriever)
{
	return COUNT_GET(retriever, demand_waiting) && !gate_demand_is_put_off(retriever->gate);
}

char *retriever_fd_path(int fd)
{
	char *path = migrate_fd_path(fd);

	return path ? path : g_strdup("?");
}

DIR *retriever_list(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = err;
	return dir;
}

int retriever_open_name(int dir_fd, const char *name, int flags)
{
	return migrate_open_below(dir_fd, name, flags | O_NOFOLLOW, RESOLVE_NO_XDEV);
}

int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags)
{
	return migrate_binding_open(retriever->root_fd, binding, flags | O_CLOEXEC | O_NOATIME);
}
