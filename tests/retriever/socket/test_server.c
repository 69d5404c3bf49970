/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "lib/config/config.h"
#include "retriever/socket/server.h"

#define PAUSE_MS 200 /* server.c */

static struct core core;
static gint full;    /* atomic: the process may have no more descriptors */
static gint refused; /* atomic: connections since */

int accept4(int sock, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (!g_atomic_int_get(&full))
		return syscall(SYS_accept4, sock, addr, len, flags);
	g_atomic_int_inc(&refused);
	errno = EMFILE;
	return -1;
}

static void start(void)
{
	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
}

/* A socket that a killed retriever left behind is replaced; it is root's alone, but for who may
 * watch. */
START_TEST(a_dead_socket_is_replaced)
{
	struct stat st;
	int fd;

	start();
	core_supervise(&core, 0);
	core_connect(&core);
	fd = core_find(&core, "f", O_RDONLY);
	core_end_supervision(&core);
	ck_assert_int_eq(stat(core.socket, &st), 0);
	core_open(&core);
	core_run(&core);
	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 1000, 1);
	ck_assert_int_eq(stat(core.socket, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFSOCK | (getgrnam(MONITOR_GROUP) ? 0660 : 0600));
	core_disconnect(&core);
	core_close(&core);
	ck_assert_int_eq(stat(core.socket, &st), -1);
	core_free_with(&core, fd);
}
END_TEST

START_TEST(a_path_that_is_too_long)
{
	g_autofree char *error = NULL;

	start();
	g_free(core.socket);
	core.socket = g_strnfill(_i, 'x');
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(strstr(error, "longer than"));
	core_free(&core);
}
END_TEST

START_TEST(peers_are_counted)
{
	struct core other;
	int fd;

	start();
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	other = core;
	core_connect(&other);
	ck_assert_int_eq(core_range(&other, fd, 0, 1), 0);
	core_disconnect(&other);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	core_stop(&core); /* nobody else looks at the peers now */
	ck_assert_int_eq(COUNT_GET(core.retriever, crawlers), 0);
	core_free_with(&core, fd);
}
END_TEST

/* Who waits to be connected does not keep the others from being heard. */
START_TEST(i11_a_peer_too_many)
{
	struct core other;
	gint64 begun;
	int fd;

	start();
	core_start(&core);
	fd = core_find(&core, "f", O_RDONLY);
	ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	g_atomic_int_set(&full, 1);
	begun = g_get_monotonic_time();
	other = core;
	core_connect(&other);
	for (unsigned i = 0; i < 500 || !g_atomic_int_get(&refused); i++)
		ck_assert_int_eq(core_range(&core, fd, 0, 1), 0);
	ck_assert_int_le((g_atomic_int_get(&refused) - 1) * PAUSE_MS,
			 (g_get_monotonic_time() - begun) / 1000);
	g_atomic_int_set(&full, 0);
	ck_assert_int_eq(core_range(&other, fd, 0, 1), 0);
	core_disconnect(&other);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("server", 60);

	tcase_add_test(tcase, a_dead_socket_is_replaced);
	/* from the first that leaves no room for the end on */
	tcase_add_loop_test(tcase, a_path_that_is_too_long,
			    sizeof(((struct sockaddr_un *)NULL)->sun_path), 110);
	tcase_add_test(tcase, peers_are_counted);
	tcase_add_test(tcase, i11_a_peer_too_many);
	return run_tcase(tcase);
}
