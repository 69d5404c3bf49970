/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core_hook.h"

#include "door/server.h"

static struct core core;

static void start(void)
{
	core_make(&core);
	core_source_file(&core, "f", 1000, 1);
}

/* A socket that a killed retriever left behind is replaced; it is root's alone. */
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
	ck_assert_uint_eq(st.st_mode, S_IFSOCK | 0600);
	core_disconnect(&core);
	core_close(&core);
	ck_assert_int_eq(stat(core.socket, &st), -1);
	close(fd);
	core_free(&core);
}
END_TEST

START_TEST(a_path_that_is_too_long)
{
	g_autofree char *error = NULL;

	start();
	g_free(core.socket);
	core.socket = g_strnfill(200, 'x');
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
	close(fd);
	core_free(&core);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("server");
	TCase *tcase = CORE_TCASE(suite, "server", 60);

	tcase_add_test(tcase, a_dead_socket_is_replaced);
	tcase_add_test(tcase, a_path_that_is_too_long);
	tcase_add_test(tcase, peers_are_counted);
	return run_suite(suite);
}
