/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER   "quickmigrate-worker"
#define UNUSED 0x90000000u /* from here on nothing gives out uids: one a process, without USER */
#define NOBODY 65534
#define MEMORY ((rlim_t)1 << 30)
#define FILES  32u
#define PASSWD "/etc/passwd"

static void end_unless_done(int ret)
{
	if (ret)
		_exit(3);
}

/* Whatever an old server makes it allocate, the retriever is not what the kernel ends for it. */
static void be_expendable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "500", 3) != 3)
		_exit(3);
	if (fd >= 0)
		close(fd);
}

/* Of a user that nothing on this machine belongs to.  No name service is asked: it may be away. */
static void find_ids(uid_t *uid, gid_t *gid)
{
	FILE *file = fopen(PASSWD, "re");
	struct passwd *user;

	*uid = *gid = UNUSED + (uid_t)getpid();
	while (file && (user = fgetpwent(file)))
		if (!strcmp(user->pw_name, USER) && user->pw_uid && user->pw_gid &&
		    user->pw_uid != NOBODY && user->pw_gid != NOBODY) {
			*uid = user->pw_uid;
			*gid = user->pw_gid;
			break;
		}
	if (file)
		fclose(file);
}

static void be_nobody_else(void)
{
	uid_t uid;
	gid_t gid;

	find_ids(&uid, &gid);
	end_unless_done(setgroups(0, NULL));
	end_unless_done(setresgid(gid, gid, gid));
	end_unless_done(setresuid(uid, uid, uid));
}

void sandbox_drop(unsigned first_other)
{
	const struct rlimit none = {0, 0}, files = {FILES, FILES};

	be_expendable();
	if (geteuid() == 0)
		be_nobody_else();
	end_unless_done(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* setresuid takes it away */
	end_unless_done(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	end_unless_done(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	end_unless_done(setrlimit(RLIMIT_CORE, &none));
	end_unless_done(setrlimit(RLIMIT_NOFILE, &files));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they map terabytes */
	end_unless_done(setrlimit(RLIMIT_AS, &(const struct rlimit){MEMORY, MEMORY}));
#endif
	end_unless_done(chdir("/"));
	close_range(first_other < FILES ? first_other : FILES, ~0u, 0);
}

/* epoll(7), eventfd(2): of no type, and a way to nobody. */
static bool is_anonymous(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && !(st.st_mode & S_IFMT);
}

void sandbox_keep(const int *kept, unsigned n)
{
	for (int fd = STDERR_FILENO + 1; fd < (int)FILES; fd++) {
		bool keep = fcntl(fd, F_GETFD) < 0 || is_anonymous(fd);

		for (unsigned i = 0; i < n; i++)
			keep |= kept[i] == fd;
		if (!keep)
			end_unless_done(dup3(STDIN_FILENO, fd, O_CLOEXEC) < 0);
	}
}

/* ---- system calls ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH AUDIT_ARCH_PPC64LE
#else
#error "sandbox.c: name the architecture for seccomp(2)"
#endif

/* Allowed: always, where an argument is value, or where it has no bit of it. */
struct rule {
	unsigned call;
	enum { ALWAYS, IS, LACKS } when;
	unsigned argument;
	uint32_t value;
};

/* What works on the descriptors that are open, on this process's memory, and on its clock. */
static const struct rule closed[] = {
	{SYS_read},
	{SYS_write},
	{SYS_writev},
	{SYS_readv},
	{SYS_recvfrom},
	{SYS_recvmsg},
	{SYS_sendto},
	{SYS_sendmsg},
	{SYS_epoll_pwait},
	{SYS_ppoll},
	{SYS_pselect6},
	{SYS_getpid},
	{SYS_futex},
	{SYS_mmap, LACKS, 2, PROT_EXEC},
	{SYS_munmap},
	{SYS_mremap},
	{SYS_brk},
	{SYS_close},
	{SYS_epoll_create1},
	{SYS_epoll_ctl},
	{SYS_fcntl, IS, 1, F_GETFD},
	{SYS_fcntl, IS, 1, F_SETFD},
	{SYS_fcntl, IS, 1, F_GETFL},
	{SYS_fcntl, IS, 1, F_SETFL},
	{SYS_ioctl, IS, 1, FIONREAD},
	{SYS_getsockname},
	{SYS_getpeername},
	{SYS_getsockopt},
	{SYS_getrandom},
	{SYS_clock_gettime},
	{SYS_clock_nanosleep},
	{SYS_gettimeofday},
	{SYS_getuid},
	{SYS_geteuid},
	{SYS_getgid},
	{SYS_getegid},
	{SYS_rt_sigaction},
	{SYS_rt_sigprocmask},
	{SYS_rt_sigreturn},
	{SYS_sigaltstack}, /* AddressSanitizer, where it ends */
	{SYS_restart_syscall},
	{SYS_exit},
	{SYS_exit_group},
#ifdef SYS_poll
	{SYS_poll},
#endif
#ifdef SYS_select
	{SYS_select},
#endif
#ifdef SYS__newselect
	{SYS__newselect},
#endif
#ifdef SYS_send
	{SYS_send},
#endif
#ifdef SYS_recv
	{SYS_recv},
#endif
#ifdef SYS_epoll_create
	{SYS_epoll_create},
#endif
#ifdef SYS_epoll_wait
	{SYS_epoll_wait},
#endif
#ifdef SYS_time
	{SYS_time},
#endif
};

#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE)

/* And what it takes to find servers and to load libraries: files are read, and connections made. */
static const struct rule opening[] = {
	{SYS_openat, LACKS, 2, WRITING & ~O_DIRECTORY},
	{SYS_newfstatat},
	{SYS_fstat},
	{SYS_statx},
	{SYS_faccessat},
	{SYS_readlinkat},
	{SYS_getdents64},
	{SYS_lseek},
	{SYS_pread64},
	{SYS_uname},
	{SYS_sysinfo},
	{SYS_getppid},
	{SYS_gettid},
	{SYS_getcwd},
	{SYS_memfd_create},
	{SYS_eventfd2},
	{SYS_pipe2},
	{SYS_prlimit64, IS, 0, 0},
	{SYS_sched_getaffinity},
	{SYS_socket, IS, 0, AF_UNIX},
	{SYS_socket, IS, 0, AF_INET},
	{SYS_socket, IS, 0, AF_INET6},
	{SYS_socket, IS, 0, AF_NETLINK},
	{SYS_ioctl, IS, 1, SIOCGIFINDEX}, /* the scope of an address */
	{SYS_connect},
	{SYS_bind},
	{SYS_shutdown},
	{SYS_setsockopt},
	{SYS_sendmmsg},
	{SYS_recvmmsg},
	{SYS_mmap},
	{SYS_mprotect},
	{SYS_madvise},
	/* what sandbox_keep() and sandbox_close(false) do */
	{SYS_dup3},
	{SYS_prctl, IS, 0, PR_SET_SECCOMP},
	{SYS_landlock_create_ruleset},
	{SYS_landlock_restrict_self},
#ifdef SYS_open
	{SYS_open, LACKS, 1, WRITING & ~O_DIRECTORY},
#endif
#ifdef SYS_stat
	{SYS_stat},
#endif
#ifdef SYS_lstat
	{SYS_lstat},
#endif
#ifdef SYS_access
	{SYS_access},
#endif
#ifdef SYS_readlink
	{SYS_readlink},
#endif
#ifdef SYS_getrlimit
	{SYS_getrlimit},
#endif
};

enum {
	COUNT_CLOSED = sizeof(closed) / sizeof(closed[0]),
	COUNT_OPENING = sizeof(opening) / sizeof(opening[0]),
	OF_RULE = 5, /* instructions */
	OTHERS = 6
};

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter give(uint32_t value)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value);
}

/* The accumulator has the number of the call, before and after. */
static unsigned put_rule(struct sock_filter *at, const struct rule *rule)
{
	const size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
	unsigned n = 0;

	at[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->call, 0,
					       rule->when == ALWAYS ? 1 : OF_RULE - 1);
	if (rule->when == ALWAYS) {
		at[n++] = give(SECCOMP_RET_ALLOW);
		return n;
	}
	at[n++] = load(offsetof(struct seccomp_data, args) + 8 * rule->argument + low);
	at[n++] = rule->when == IS ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								  rule->value, 0, 1)
				   : (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
								  rule->value, 1, 0);
	at[n++] = give(SECCOMP_RET_ALLOW);
	at[n++] = load(offsetof(struct seccomp_data, nr));
	return n;
}

/* What is not listed fails with EPERM: another way in, such as that of 32-bit programs, ends it.
 * Calls of the x32 kind have numbers of their own, which are not listed. */
static void filter_calls(bool may_open)
{
	struct sock_filter filter[(COUNT_CLOSED + COUNT_OPENING) * OF_RULE + OTHERS];
	struct sock_fprog program = {.filter = filter};
	unsigned n = 0;

	filter[n++] = load(offsetof(struct seccomp_data, arch));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	filter[n++] = give(SECCOMP_RET_KILL_PROCESS);
	filter[n++] = load(offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < COUNT_CLOSED; i++)
		n += put_rule(filter + n, &closed[i]);
	for (unsigned i = 0; may_open && i < COUNT_OPENING; i++)
		n += put_rule(filter + n, &opening[i]);
	filter[n++] = give(SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA));
	program.len = (unsigned short)n;
	end_unless_done(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* ---- files ----------------------------------------------------------------------------------- */

#define READING ((1u << 2) | (1u << 3)) /* LANDLOCK_ACCESS_FS_READ_FILE, _READ_DIR */

/* No file at all, or none but to be read, whatever the filter let through: landlock(7), where the
 * kernel has it.  Rights that this one knows, by the version of its interface. */
static void forbid_files(bool may_read)
{
	static const unsigned char known[] = {0, 13, 14, 15, 15, 16};
	const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
	uint64_t handled;
	long ruleset;

	if (version < 1)
		return;
	handled = (UINT64_C(1) << known[version < 5 ? version : 5]) - 1;
	if (may_read)
		handled &= ~(uint64_t)READING;
	ruleset = syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	end_unless_done(ruleset < 0);
	end_unless_done(syscall(SYS_landlock_restrict_self, ruleset, 0) != 0);
	close((int)ruleset);
}

void sandbox_close(bool may_open)
{
	forbid_files(may_open);
	filter_calls(may_open);
}
