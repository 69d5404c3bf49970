/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/last_error.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#include "tests/suite.h"

START_TEST(a_line_that_is_roots_until_it_runs)
{
	g_autofree char *dir = g_dir_make_tmp("last-error-XXXXXX", NULL);
	g_autofree char *socket = g_build_filename(dir, "run/a.sock", NULL);
	g_autofree char *path = g_strconcat(socket, ".error", NULL);
	g_autofree char *run = g_path_get_dirname(socket), *text = NULL;
	struct stat st;

	ck_assert_ptr_null(last_error_get(socket));
	last_error_set(socket, NULL);
	last_error_set(socket, "smb://old/share:\nno share \"share\"");
	text = last_error_get(socket);
	ck_assert_ptr_nonnull(strstr(text, "no share"));
	ck_assert_ptr_null(strchr(text, '\n'));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	last_error_set(socket, NULL);
	ck_assert_ptr_null(last_error_get(socket));
	g_rmdir(run);
	g_rmdir(dir);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("last_error");

	tcase_add_test(tcase, a_line_that_is_roots_until_it_runs);
	return run_tcase(tcase);
}
