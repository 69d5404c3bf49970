/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/sandbox.h"
#include "suite.h"

#define KEPT 10

static bool opens(void)
{
	return open("/proc/self/status", O_RDONLY) >= 0;
}

static bool connects(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool refuses(long ret)
{
	return ret < 0 && errno == EPERM;
}

/* Which promise is broken, from 1 on; in a process of its own. */
static int look_inside(bool closed, bool may_open)
{
	static char *const argv[] = {"/bin/true", NULL};

	if (dup2(1, KEPT) != KEPT || dup2(1, KEPT + 1) != KEPT + 1)
		return 1;
	sandbox_drop(KEPT + 1);
	if (!getuid() || !geteuid() || !getgid() || setuid(0) == 0)
		return 2;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
		return 3;
	if (fcntl(KEPT, F_GETFD) < 0 || fcntl(KEPT + 1, F_GETFD) >= 0)
		return 4;
	if (!connects())
		return 5;
	if (!closed)
		return 0;
	sandbox_close(may_open);
	if (opens() != may_open || connects() != may_open)
		return 6;
	if (!refuses(execv(argv[0], argv)) || !refuses(kill(getppid(), 0)) || !refuses(fork()) ||
	    !refuses(mkdir("/tmp/test_sandbox", 0700)) || !refuses(listen(0, 1)))
		return 7;
	return write(KEPT, "", 0) == 0 ? 0 : 8;
}

static int jailed(bool closed, bool may_open)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(look_inside(closed, may_open));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(promises)
{
	ck_assert_int_eq(jailed(false, false), 0);
	ck_assert_int_eq(jailed(true, false), 0);
	ck_assert_int_eq(jailed(true, true), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tcase = tcase_create("sandbox");

	tcase_add_test(tcase, promises);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
