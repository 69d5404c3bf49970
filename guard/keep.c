/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST 3 /* of the descriptors that are handed over */

static guint64 get_env_number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? g_ascii_strtoull(text, NULL, 10) : 0;
}

int keep_find(const char *name)
{
	const char *list = getenv("LISTEN_FDNAMES");

	if (!list || get_env_number("LISTEN_PID") != (guint64)getpid())
		return -1;

	g_auto(GStrv) names = g_strsplit(list, ":", -1);
	const guint64 count = MIN(get_env_number("LISTEN_FDS"), g_strv_length(names));

	for (guint64 i = 0; i < count; i++) {
		int fd = FIRST + (int)i;

		if (strcmp(names[i], name))
			continue;
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
			return -1;
		return fd;
	}
	return -1;
}

static int notify_socket(struct sockaddr_un *address, socklen_t *len)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (!path || (path[0] != '/' && path[0] != '@') ||
	    strlen(path) >= sizeof(address->sun_path))
		return -ENOENT;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, strlen(path));
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return sock < 0 ? -errno : sock;
}

int keep_tell(const char *text, const char *name, int fd)
{
	g_autofree char *message =
		name ? g_strdup_printf("%s\nFDNAME=%s", text, name) : g_strdup(text);
	struct sockaddr_un address;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {message, strlen(message)};
	struct msghdr msg = {.msg_name = &address, .msg_iov = &part, .msg_iovlen = 1};
	int sock = notify_socket(&address, &msg.msg_namelen), result;

	if (sock < 0)
		return sock == -ENOENT ? 0 : sock;
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS,
						  .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	result = sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
	close(sock);
	return result;
}
