/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guard/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/journal/place.h"

static char *path;

static void set_up(void)
{
	place_make();
	path = g_build_filename(place, "lock", NULL);
	ck_assert(g_file_set_contents(path, "", 0, NULL));
}

static void tear_down(void)
{
	keeper_end(path);
	g_free(path);
	place_remove();
}

/* One that starts a keeper and is killed, as the kernel would. */
static void starter(const int *fds, unsigned n)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		keeper_start(path, fds, n, NULL, NULL);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
}

START_TEST(keeps)
{
	int ends[2], fds[2];
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	fds[0] = ends[1];
	fds[1] = -1;
	ck_assert_int_eq(keeper_get(path, 0), -1);
	starter(fds, 2);
	close(ends[1]); /* the keeper alone has it */
	int copy = keeper_get(path, 0);
	ck_assert_int_ge(copy, 0);
	ck_assert_int_eq(fcntl(copy, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(keeper_get(path, 1), -1);
	ck_assert_int_eq(write(copy, "x", 1), 1);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'x');
	close(copy);
	keeper_end(path);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0); /* nobody has it */
	ck_assert_int_eq(keeper_get(path, 0), -1);
	close(ends[0]);
}
END_TEST

/* As kernel.yama.ptrace_scope = 3 has it. */
static bool forbid_taking(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = G_N_ELEMENTS(filter), .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

START_TEST(nothing_is_taken)
{
	const int fds[] = {-1, open("/dev/null", O_RDONLY)};
	int status;
	pid_t child;

	ck_assert(keeper_start(path, fds, 2, NULL, NULL));
	child = fork();
	if (child == 0)
		_exit(!forbid_taking() || keeper_get(path, 1) < 0 || keeper_get(path, 1) < 0 ||
		      keeper_get(path, 0) >= 0 || keeper_get(path, 2) >= 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(fds[1]);
}
END_TEST

/* A name that is too long for a socket. */
START_TEST(long_name)
{
	g_autofree char *name = g_strnfill(100, 'n'), *other = g_build_filename(place, name, NULL);
	const int fd = open("/dev/null", O_RDONLY);
	int copy;

	ck_assert(g_file_set_contents(other, "", 0, NULL));
	ck_assert(keeper_start(other, &fd, 1, NULL, NULL));
	copy = keeper_get(other, 0);
	ck_assert_int_ge(copy, 0);
	keeper_end(other);
	close(copy);
	close(fd);
}
END_TEST

START_TEST(one_at_a_time)
{
	const int fd = open("/dev/null", O_RDONLY);

	ck_assert(keeper_start(path, &fd, 1, NULL, NULL));
	ck_assert(!keeper_start(path, &fd, 1, NULL, NULL));
	keeper_end(path);
	ck_assert(keeper_start(path, &fd, 1, NULL, NULL));
	keeper_end("/nowhere");
	ck_assert(!keeper_start("/nowhere", &fd, 1, NULL, NULL));
	close(fd);
}
END_TEST

/* Who may only read the file has another kind of lock. */
START_TEST(not_who_reads)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int ends[2];
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDONLY);

		dup2(ends[1], 100);
		if (fcntl(fd, F_SETLK, &lock) < 0 || write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	ck_assert_int_eq(keeper_get(path, 0), -1);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(needed)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("FDSTORE");
	ck_assert(!keeper_is_needed());
	g_setenv("NOTIFY_SOCKET", "/x", TRUE);
	ck_assert(keeper_is_needed());
	g_setenv("FDSTORE", "4", TRUE);
	ck_assert(!keeper_is_needed());
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("keeper");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, keeps);
	tcase_add_test(tcase, nothing_is_taken);
	tcase_add_test(tcase, long_name);
	tcase_add_test(tcase, not_who_reads);
	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, needed);
	return run_tcase(tcase);
}
