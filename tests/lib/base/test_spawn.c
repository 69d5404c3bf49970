/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "tests/suite.h"

/* It has the descriptors in their order, and nothing else of this program. */
START_TEST(descriptors)
{
	const char *script =
		"#!/bin/sh\n"
		"links=$(readlink /proc/$$/fd/0 /proc/$$/fd/1)\n"
		"{ echo \"$links\"; env | grep -c KRB5; } >&3\n"
		"[ ! -e /proc/self/fd/5 ] && [ \"$0\" = \"$(cat <&4)\" ] && echo good >&3\n"
		"exec tail -f /dev/null 3>&-\n";
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "test_program-XXXXXX", NULL);
	const int made = g_mkstemp(path);
	int out[2], in[2];
	char text[200] = "";
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(write(made, script, strlen(script)), (ssize_t)strlen(script));
	ck_assert(fchmod(made, 0700) == 0 && close(made) == 0);
	ck_assert(pipe2(out, O_CLOEXEC) == 0 && pipe2(in, O_CLOEXEC) == 0);
	g_setenv("KRB5_CONFIG", "/x", TRUE);
	ck_assert_int_eq(program_start(&pid, path, (const int[]){out[1], in[0]}, 2), 0);
	ck_assert_int_eq(write(in[1], path, strlen(path)), (ssize_t)strlen(path));
	close(in[1]);
	close(out[1]);
	while ((n = read(out[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	ck_assert_str_eq(text, "/dev/null\n/dev/null\n1\ngood\n");
	const int status = program_end(pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert(waitpid(pid, NULL, 0) < 0 && errno == ECHILD);
	close(in[0]);
	close(out[0]);
	unlink(path);
}
END_TEST

START_TEST(mistakes)
{
	pid_t pid;

	ck_assert_int_eq(program_start(&pid, "/nowhere", NULL, 0), -ENOENT);
	ck_assert_int_eq(program_start(&pid, "/bin/true", (const int[]){-1}, 1), -EBADF);
}
END_TEST

START_TEST(places)
{
	g_autofree char *self = program_find("test_spawn"), *other = program_find("nothing");

	ck_assert(access(self, X_OK) == 0);
	ck_assert(g_str_has_suffix(other, "/quickmigrate/nothing"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("program");

	tcase_add_test(tcase, descriptors);
	tcase_add_test(tcase, mistakes);
	tcase_add_test(tcase, places);
	return run_tcase(tcase);
}
