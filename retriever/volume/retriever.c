/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever.h"

#include <fcntl.h>

char *retriever_fd_path(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	char *path = g_file_read_link(link, NULL);

	return path ? path : g_strdup("?");
}

int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags)
{
	return migrate_binding_open(retriever->root_fd, binding, flags | O_CLOEXEC | O_NOATIME);
}
