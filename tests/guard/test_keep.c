/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/keep.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/suite.h"

static void listen_fds(const char *pid, const char *count, const char *names)
{
	g_setenv("LISTEN_PID", pid, TRUE);
	g_setenv("LISTEN_FDS", count, TRUE);
	g_setenv("LISTEN_FDNAMES", names, TRUE);
}

START_TEST(what_was_kept)
{
	g_autofree char *self = g_strdup_printf("%d", (int)getpid());
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_ge(dup2(fd, 3), 0);
	ck_assert_int_ge(dup2(fd, 4), 0);
	ck_assert_int_eq(keep_find("open"), -1);
	listen_fds(self, "2", "open:access");
	ck_assert_int_eq(keep_find("open"), 3);
	ck_assert_int_eq(keep_find("access"), 4);
	ck_assert_int_eq(fcntl(4, F_GETFD), FD_CLOEXEC);
	ck_assert(fcntl(4, F_GETFL) & O_NONBLOCK);
	ck_assert_int_eq(keep_find("other"), -1);
	listen_fds(self, "1", "open:access");
	ck_assert_int_eq(keep_find("access"), -1);
	listen_fds("1", "2", "open:access");
	ck_assert_int_eq(keep_find("open"), -1);
}
END_TEST

/* One message: its text, and its descriptor or -1. */
static int receive(int sock, char *text, size_t size)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {text, size - 1};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(sock, &msg, 0);
	struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
	int fd = -1;

	ck_assert_int_gt(len, 0);
	text[len] = '\0';
	if (header)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

START_TEST(what_is_to_be_kept)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	g_autofree char *name = g_strdup_printf("@quickmigrate-test-%d", (int)getpid());
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0), null = open("/dev/null", O_RDONLY), fd;
	char text[200];
	struct stat a, b;

	ck_assert_int_eq(keep_tell("READY=1", NULL, -1), 0);
	g_strlcpy(address.sun_path + 1, name + 1, sizeof(address.sun_path) - 1);
	ck_assert_int_eq(bind(sock, (struct sockaddr *)&address,
			      (socklen_t)(sizeof(sa_family_t) + strlen(name))),
			 0);
	g_setenv("NOTIFY_SOCKET", name, TRUE);
	ck_assert_int_eq(keep_tell("READY=1", NULL, -1), 0);
	ck_assert_int_eq(receive(sock, text, sizeof(text)), -1);
	ck_assert_str_eq(text, "READY=1");
	ck_assert_int_eq(keep_tell("FDSTORE=1", "open", null), 0);
	fd = receive(sock, text, sizeof(text));
	ck_assert_str_eq(text, "FDSTORE=1\nFDNAME=open");
	ck_assert(fstat(fd, &a) == 0 && fstat(null, &b) == 0 && a.st_rdev == b.st_rdev);
	close(sock);
	ck_assert_int_lt(keep_tell("READY=1", NULL, -1), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("keep");

	tcase_add_test(tcase, what_was_kept);
	tcase_add_test(tcase, what_is_to_be_kept);
	return run_tcase(tcase);
}
