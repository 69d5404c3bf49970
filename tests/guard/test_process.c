/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process.h"

#include <signal.h>
#include <sys/prctl.h>

#include "guard_place.h"

static const char *const names[] = {"other", "test_process", NULL};

START_TEST(names_of_it)
{
	const char *const none[] = {"other", NULL};
	g_autofree char *text = process_text(getpid()), *nobody = process_text(0);
	g_autofree char *wanted = g_strdup_printf("test_process (%d)", (int)getpid());

	ck_assert_str_eq(text, wanted);
	ck_assert_str_eq(nobody, "a process (0)");
	ck_assert(process_is_one_of(getpid(), names));
	ck_assert(!process_is_one_of(getpid(), none));
	ck_assert(!process_is_one_of(getpid(), NULL));
	ck_assert(!process_is_one_of(0, names));
	ck_assert(!process_is_server(getpid()));
	ck_assert(!process_is_server(0));
	ck_assert(!process_is_nfsd(getpid()));
	ck_assert_int_eq(prctl(PR_SET_NAME, "nfsd"), 0); /* a program may call itself that */
	ck_assert(!process_is_nfsd(getpid()));
	ck_assert(!process_is_nfsd(0));
}
END_TEST

START_TEST(its_group)
{
	g_autofree char *text = NULL;

	ck_assert(g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL));
	g_strstrip(text);
	const char *last = strrchr(text, '/');
	if (last && last[1]) {
		const char *const group[] = {last + 1, NULL};
		ck_assert(process_is_one_of(getpid(), group));
	}
}
END_TEST

/* By the name of its file, also after that was replaced, and only if it is root's. */
START_TEST(servers)
{
	g_autofree char *path = g_build_filename(place, "smbd", NULL);
	const char *argv[] = {"/bin/cp", "/bin/sleep", path, NULL};
	pid_t child;

	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL));
	child = fork();
	if (child == 0) {
		execl(path, "x", "1000", NULL);
		_exit(1);
	}
	while (!process_is_server(child))
		g_usleep(1000);
	ck_assert_int_eq(chown(path, 1000, 1000), 0);
	ck_assert(!process_is_server(child));
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(process_is_server(child));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

/* The first process of a namespace.  0, or which look was wrong. */
static int look_at_mounts(void)
{
	g_autofree char *first = NULL, *same = NULL, *own = NULL, *wanted = NULL;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 1;
	first = process_own_mount(1, "/x");
	same = process_own_mount(child, "/x");
	if (first || same || process_own_mount(0, "/x"))
		return 2;
	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWNS) == 0)
			pause();
		_exit(1);
	}
	while (!own)
		own = process_own_mount(child, "/x");
	wanted = g_strdup_printf("/proc/%d/root/x", (int)child);
	return strcmp(own, wanted) ? 3 : 0;
}

/* Its own children are in that namespace afterwards. */
static int look_as_first(void)
{
	int status = -1;
	pid_t child = unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ? -1 : fork();

	if (child == 0)
		_exit(look_at_mounts());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

START_TEST(mounts)
{
	pid_t child = fork();

	if (child == 0)
		_exit(look_as_first());
	ck_assert_int_eq(guard_ended(child), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process");
	TCase *tcase = tcase_create("process");

	tcase_add_checked_fixture(tcase, guard_place_make, guard_place_remove);
	tcase_add_test(tcase, names_of_it);
	tcase_add_test(tcase, its_group);
	tcase_add_test(tcase, servers);
	tcase_add_test(tcase, mounts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
