/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever.h"

#include <fcntl.h>
#include <string.h>

char *retriever_fd_path(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	char *path = g_file_read_link(link, NULL);

	return path ? path : g_strdup("?");
}

int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MIGRATE_BINDING_MAX];
	} u;

	u.handle.handle_bytes = binding->len;
	u.handle.handle_type = binding->type;
	memcpy(u.handle.f_handle, binding->bytes, binding->len);
	return open_by_handle_at(retriever->root_fd, &u.handle, flags | O_CLOEXEC | O_NOATIME);
}
