/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/process.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>

#include "tests/guard/guard_place.h"

static const char *const names[] = {"other", "test_process", NULL};

static bool of(pid_t tid, bool (*ask)(int process))
{
	const int process = process_open(tid);
	const bool answer = ask(process);

	if (process >= 0)
		close(process);
	return answer;
}

static bool is_one_of(pid_t tid, const char *const *list)
{
	const int process = process_open(tid);
	const bool answer = process_is_one_of(process, list);

	if (process >= 0)
		close(process);
	return answer;
}

START_TEST(names_of_it)
{
	const char *const none[] = {"other", NULL};
	g_autofree char *text = process_text(getpid()), *nobody = process_text(0);
	g_autofree char *wanted = g_strdup_printf("test_process (%d)", (int)getpid());

	ck_assert_str_eq(text, wanted);
	ck_assert_str_eq(nobody, "a process (0)");
	ck_assert(is_one_of(getpid(), names));
	ck_assert(!is_one_of(getpid(), none));
	ck_assert(!is_one_of(getpid(), NULL));
	ck_assert(!is_one_of(0, names));
	ck_assert(!of(getpid(), process_is_server));
	ck_assert(!of(0, process_is_server));
	ck_assert(!of(getpid(), process_is_nfsd));
	ck_assert_uint_eq(process_uid(-1), UINT32_MAX);
	ck_assert_int_eq(prctl(PR_SET_NAME, "nfsd"), 0); /* a program may call itself that */
	ck_assert(!of(getpid(), process_is_nfsd));
	ck_assert(!of(0, process_is_nfsd));
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
		ck_assert(is_one_of(getpid(), group));
	}
}
END_TEST

static void nothing(void)
{
}

/* A program of root's with that name, which sleeps. */
static char *program(const char *name)
{
	char *path = g_build_filename(place, name, NULL);
	const char *argv[] = {"/bin/cp", "/bin/sleep", path, NULL};

	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL));
	ck_assert_int_eq(chmod(place, 0755), 0);
	return path;
}

/* The process that runs it, as what become() makes it. */
static pid_t run(const char *path, void (*become)(void))
{
	g_autofree char *exe = NULL, *link = NULL;
	pid_t child = fork();

	if (child == 0) {
		become();
		execl(path, "x", "1000", NULL);
		_exit(1);
	}
	exe = g_strdup_printf("/proc/%d/exe", (int)child);
	do {
		g_usleep(1000);
		g_free(link);
		link = g_file_read_link(exe, NULL);
		ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
	} while (g_strcmp0(link, path));
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* By the name of its file, also after that was replaced, and only if it is root's. */
START_TEST(servers)
{
	g_autofree char *path = program("migratectl");
	const pid_t child = run(path, nothing);

	ck_assert(of(child, process_is_server));
	ck_assert_int_eq(chown(path, 1000, 1000), 0);
	ck_assert(!of(child, process_is_server));
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(of(child, process_is_server));
	end(child);
}
END_TEST

static void become(bool done)
{
	if (!done)
		_exit(1);
}

static void for_a_client(void)
{
	become(setresgid(1000, 1000, 1000) == 0 && setresuid(-1, 1000, -1) == 0);
}

static void somebody(void)
{
	become(setresuid(1000, 1000, 1000) == 0);
}

static void setuid_program(void)
{
	become(setresuid(1000, 0, 0) == 0);
}

static void map(const char *inside)
{
	const int fd = open("/proc/self/uid_map", O_WRONLY);

	become(write(fd, inside, strlen(inside)) == (ssize_t)strlen(inside));
	close(fd);
}

static void root_of_a_container(void)
{
	become(unshare(CLONE_NEWUSER) == 0);
	map("0 0 1");
}

static void root_of_ones_own(void)
{
	somebody();
	become(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 &&
	       unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	map("0 1000 1");
}

static void little_root(void)
{
	become(prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0) == 0);
}

/* The name is not enough. */
START_TEST(who_runs_them)
{
	static const struct {
		void (*become)(void);
		bool is_server;
	} cases[] = {
		{nothing, true},	 {for_a_client, true},	       {somebody, false},
		{setuid_program, false}, {root_of_a_container, false}, {root_of_ones_own, false},
		{little_root, false}};
	g_autofree char *path = program("migratectl");

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const pid_t child = run(path, cases[i].become);

		ck_assert_msg(of(child, process_is_server) == cases[i].is_server, "case %zu", i);
		end(child);
	}
}
END_TEST

/* Whoever it serves. */
START_TEST(doors)
{
	static const struct {
		void (*become)(void);
		bool is_door;
	} cases[] = {{nothing, true},
		     {for_a_client, true},
		     {somebody, true},
		     {root_of_a_container, false}};
	g_autofree char *path = program("smbd"), *other = program("smbd2");
	pid_t child;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		child = run(path, cases[i].become);
		ck_assert_msg(of(child, process_is_door) == cases[i].is_door, "case %zu", i);
		ck_assert(!of(child, process_is_server));
		end(child);
	}
	child = run(other, nothing);
	ck_assert(!of(child, process_is_door));
	end(child);
	ck_assert_int_eq(chown(path, 1000, 1000), 0);
	child = run(path, nothing);
	ck_assert(!of(child, process_is_door));
	end(child);
}
END_TEST

/* What was opened is of the process that was there then. */
START_TEST(ended)
{
	g_autofree char *path = program("migratectl");
	const pid_t child = run(path, nothing);
	const int process = process_open(child);

	ck_assert(process_is_server(process));
	ck_assert_int_eq(process_number(process), child);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(process_number(process), 0);
	end(child);
	ck_assert_int_eq(process_number(process), 0);
	ck_assert(!process_is_server(process));
	ck_assert(!process_has_own_mounts(process) || !process_owns_mount_of(process, process));
	close(process);
	ck_assert_int_eq(process_open(0), -1);
}
END_TEST

/* A child that has told that it stands where it is to. */
static pid_t child_at(bool (*go)(void))
{
	int ready[2];
	char byte;
	pid_t child = pipe(ready) < 0 ? -1 : fork();

	if (child == 0) {
		if (go() && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		child = -1;
	close(ready[0]);
	return child;
}

static bool here(void)
{
	return true;
}

static bool with_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

/* Mounts of its own, and everybody's for its root. */
static bool with_our_root(void)
{
	const int root = open("/", O_PATH);

	return unshare(CLONE_NEWNS) == 0 && fchdir(root) == 0 && chroot(".") == 0;
}

static bool owns_root_of(pid_t tid, pid_t of_whom)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/root", (int)of_whom);
	const int process = process_open(tid), fd = open(path, O_PATH);
	const bool owns = process_owns_mount_of(process, fd);

	close(fd);
	close(process);
	return owns;
}

/* The first process of a namespace.  0, or which look was wrong. */
static int look_at_mounts(void)
{
	pid_t same, own, other, ours;

	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 1;
	same = child_at(here);
	own = child_at(with_mounts);
	other = child_at(with_mounts);
	ours = child_at(with_our_root);
	if (same < 0 || own < 0 || other < 0 || ours < 0)
		return 2;
	if (!of(own, process_is_alone) || of(same, process_is_alone) || of(0, process_is_alone))
		return 6;
	if (of(1, process_has_own_mounts) || of(same, process_has_own_mounts) ||
	    of(0, process_has_own_mounts) || !of(own, process_has_own_mounts))
		return 3;
	if (owns_root_of(1, 1) || owns_root_of(same, 1) || owns_root_of(own, 1) ||
	    owns_root_of(own, other) || owns_root_of(ours, ours))
		return 4;
	return owns_root_of(own, own) && owns_root_of(other, other) ? 0 : 5;
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
	TCase *tcase = tcase_create("process");

	tcase_add_checked_fixture(tcase, guard_place_make, guard_place_remove);
	tcase_add_test(tcase, names_of_it);
	tcase_add_test(tcase, its_group);
	tcase_add_test(tcase, servers);
	tcase_add_test(tcase, who_runs_them);
	tcase_add_test(tcase, doors);
	tcase_add_test(tcase, ended);
	tcase_add_test(tcase, mounts);
	return run_tcase(tcase);
}
