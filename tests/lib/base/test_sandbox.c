/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/sandbox.h"
#include "tests/suite.h"

#define KEPT	10
#define NUMBERS 1024
#define X32	0x40000000
#define NOBODY	65534
#define UNUSED	0x90000000u
#define GIB	((size_t)1 << 30)

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

/* ---- what it is ------------------------------------------------------------------------------ */

static bool is_its_own(uid_t wanted)
{
	uid_t ids[6];

	if (getresuid(ids, ids + 1, ids + 2) < 0 || getresgid(ids + 3, ids + 4, ids + 5) < 0)
		return false;
	for (int i = 0; i < 6; i++)
		if (wanted ? ids[i] != wanted : ids[i] < UNUSED || ids[i] != ids[0])
			return false;
	return getgroups(0, NULL) == 0 && setuid(0) < 0;
}

/* Which promise is broken, from 1 on; in a process of its own. */
static int look_inside(uid_t wanted)
{
	if (dup2(1, KEPT) != KEPT || dup2(1, KEPT + 1) != KEPT + 1)
		return 1;
	sandbox_drop(KEPT + 1);
	if (!is_its_own(wanted))
		return 2;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
		return 3;
	if (fcntl(KEPT, F_GETFD) < 0 || fcntl(KEPT + 1, F_GETFD) >= 0)
		return 4;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (mmap(NULL, GIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 5;
#endif
	return connects() ? 0 : 6;
}

static int status_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(promises)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(look_inside(0));
	ck_assert_int_eq(status_of(pid), 0);
}
END_TEST

/* Nobody's files are nobody's: where packages have made the user it is that one. */
START_TEST(user)
{
	static const char *const users[] = {
		"nobody:x:65534:65534::/:/bin/false\nquickmigrate-worker:x:997:997::/:/bin/false\n",
		"quickmigrate-worker-2:x:5:5::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n",
		"quickmigrate-worker:x:0:0::/:/bin/false\n",
		"quickmigrate-worker:x:65534:65534::/:/bin/false\n", ""};
	static const uid_t wanted[] = {997, 0, 0, 0, 0};

	for (size_t i = 0; i < G_N_ELEMENTS(users); i++) {
		g_autofree char *path = g_strdup("/tmp/passwd-XXXXXX");
		const int fd = g_mkstemp(path);
		pid_t pid;

		ck_assert_int_eq(write(fd, users[i], strlen(users[i])), strlen(users[i]));
		close(fd);
		pid = fork();
		if (pid == 0)
			_exit(unshare(CLONE_NEWNS) < 0 ||
					      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) <
						      0 ||
					      mount(path, "/etc/passwd", NULL, MS_BIND, NULL) < 0
				      ? 20
				      : look_inside(wanted[i]));
		ck_assert_msg(status_of(pid) == 0, "case %zu", i);
		unlink(path);
	}
}
END_TEST

/* ---- what it has open ------------------------------------------------------------------------ */

static bool is_same(int fd, int as)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(as, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* A library has a service and a file open, and waits for them: what can still be reached, from 1
 * on. */
static int look_at_what_is_open(void)
{
	const int null = open("/dev/null", O_RDWR);
	int service[2], kept[2], events, reached = 0;

	if (dup2(null, STDIN_FILENO) != STDIN_FILENO ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, service) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, kept) < 0)
		return 40;
	sandbox_drop(kept[1] + 1);
	sandbox_close(true);
	events = epoll_create1(0);
	if (events < 0 || open("/etc/passwd", O_RDONLY) < 0)
		return 41;
	sandbox_keep(kept, 2);
	for (int fd = STDERR_FILENO + 1; fd < 32; fd++)
		reached += fcntl(fd, F_GETFD) >= 0 && !is_same(fd, STDIN_FILENO);
	if (fcntl(service[0], F_GETFD) < 0 || write(kept[0], "", 1) < 0)
		return 42;
	sandbox_close(false);
	return epoll_ctl(events, EPOLL_CTL_DEL, kept[0], NULL) < 0 && errno == ENOENT ? reached
										      : 43;
}

START_TEST(what_is_open)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(look_at_what_is_open());
	ck_assert_int_eq(status_of(pid), 3 << 8); /* what is kept, and what waits for it */
}
END_TEST

/* ---- each system call ------------------------------------------------------------------------ */

static const unsigned on_what_is_open[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_close,
	SYS_fcntl,
	SYS_ioctl,
	SYS_getsockname,
	SYS_getpeername,
	SYS_getsockopt,
	/* waiting, and the time */
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_futex,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_gettimeofday,
	/* of itself */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_getrandom,
	SYS_getpid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__
	SYS_poll,
	SYS_select,
	SYS_epoll_create,
	SYS_epoll_wait,
	SYS_time,
#endif
};

static const unsigned to_open[] = {
	SYS_openat,
	SYS_newfstatat,
	SYS_fstat,
	SYS_statx,
	SYS_faccessat,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_lseek,
	SYS_pread64,
	SYS_uname,
	SYS_sysinfo,
	SYS_getppid,
	SYS_gettid,
	SYS_getcwd,
	SYS_memfd_create,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_prlimit64,
	SYS_sched_getaffinity,
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_dup3,
	SYS_mprotect,
	SYS_madvise,
	SYS_prctl,
	SYS_landlock_create_ruleset,
	SYS_landlock_restrict_self,
#ifdef __x86_64__
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_getrlimit,
#endif
};

static bool is_in(unsigned call, const unsigned *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == call)
			return true;
	return false;
}

static bool is_allowed(unsigned call, bool may_open)
{
	return is_in(call, on_what_is_open, G_N_ELEMENTS(on_what_is_open)) ||
	       (may_open && is_in(call, to_open, G_N_ELEMENTS(to_open)));
}

/* uretprobe and uprobe of x86: seccomp(2) lets them through from Linux 6.14 on, and they end
 * whoever is not in the kernel's own trampoline. */
static bool is_beyond(unsigned call)
{
	return call == 335 || call == 336;
}

static bool refuses_call(unsigned call)
{
	if (refuses(syscall(call, 0, 0, 0, 0, 0, 0)))
		return true;
	fprintf(stderr, "system call %u is not refused\n", call);
	return false;
}

/* Those that are refused do nothing, whatever they are. */
static int try_all(bool may_open)
{
	int passed = 0;

	sandbox_drop(KEPT);
	sandbox_close(true);
	if (!may_open)
		sandbox_close(false);
	for (unsigned call = 0; call < NUMBERS; call++) {
		passed += !is_allowed(call, may_open) && !is_beyond(call) && !refuses_call(call);
#ifdef __x86_64__
		passed += !is_beyond(call) && !refuses_call(call | X32);
#endif
	}
	return passed > 0;
}

START_TEST(each_call)
{
	for (int may_open = 0; may_open <= 1; may_open++) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(try_all(may_open));
		ck_assert_int_eq(status_of(pid), 0);
	}
}
END_TEST

/* Which of those that are allowed goes too far, from 1 on. */
static int try_arguments(bool may_open)
{
	static char *const argv[] = {"/bin/true", NULL};
	const size_t page = 4096;
	struct ifreq lo = {.ifr_name = "lo"};

	sandbox_drop(KEPT);
	sandbox_close(may_open);
	if (opens() != may_open || connects() != may_open)
		return 1;
	if (!refuses(execv(argv[0], argv)) || !refuses(kill(getpid(), 0)) || !refuses(fork()))
		return 2;
	if (!refuses(fcntl(1, F_SETOWN, 1)) || !refuses(fcntl(1, F_DUPFD, 0)) ||
	    !refuses(fcntl(1, F_SETPIPE_SZ, 0)) || !refuses(ioctl(1, TIOCSTI, "x")))
		return 3;
	if (mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		return 4;
	if (!may_open && (mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0) != MAP_FAILED ||
			  errno != EPERM))
		return 5;
	for (unsigned flags = 1; flags; flags <<= 1)
		if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY)) &&
		    !refuses(open("/dev/null", (int)flags, 0600)))
			return 6;
	if (!refuses(socket(AF_PACKET, SOCK_DGRAM, 0)) ||
	    !refuses(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)))
		return 7;
	/* the scope of an address fe80::1%eth0 */
	if (refuses(ioctl(may_open ? socket(AF_INET6, SOCK_DGRAM, 0) : 1, SIOCGIFINDEX, &lo)) ==
	    may_open)
		return 8;
	return write(1, "", 0) == 0 ? 0 : 9;
}

START_TEST(arguments)
{
	for (int may_open = 0; may_open <= 1; may_open++) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(try_arguments(may_open));
		ck_assert_int_eq(status_of(pid), 0);
	}
}
END_TEST

#ifdef __x86_64__
/* By the entry for programs of 32 bits, where 20 is getpid(). */
START_TEST(other_entry)
{
	const pid_t pid = fork();

	if (pid == 0) {
		long number = 20;

		sandbox_drop(KEPT);
		sandbox_close(true);
		__asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
		_exit(0);
	}
	ck_assert(WIFSIGNALED(status_of(pid)));
}
END_TEST
#endif

int main(void)
{
	TCase *tcase = tcase_create("sandbox");

	tcase_add_test(tcase, promises);
	tcase_add_test(tcase, user);
	tcase_add_test(tcase, what_is_open);
	tcase_add_test(tcase, each_call);
	tcase_add_test(tcase, arguments);
#ifdef __x86_64__
	tcase_add_test(tcase, other_entry);
#endif
	return run_tcase(tcase);
}
