/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

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

void sandbox_drop(unsigned first_other)
{
	const struct rlimit none = {0, 0}, files = {32, 32};

	be_expendable();
	end_unless_done(prctl(PR_SET_PDEATHSIG, SIGKILL));
	if (geteuid() == 0) {
		end_unless_done(setgroups(0, NULL));
		end_unless_done(setresgid(NOBODY, NOBODY, NOBODY));
		end_unless_done(setresuid(NOBODY, NOBODY, NOBODY));
		end_unless_done(prctl(PR_SET_PDEATHSIG, SIGKILL)); /* setresuid takes it away */
	}
	end_unless_done(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	end_unless_done(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	end_unless_done(setrlimit(RLIMIT_CORE, &none));
	end_unless_done(setrlimit(RLIMIT_NOFILE, &files));
	end_unless_done(chdir("/"));
	close_range(first_other, ~0u, 0);
}

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

/* Refused with EPERM: whatever reaches beyond the descriptors that are open. */
static const unsigned refused[] = {
	SYS_openat,
	SYS_socket,
	SYS_connect,
#ifdef __x86_64__
	SYS_open,
#define OPENING 4 /* those before here */
#else
#define OPENING 3
#endif
	SYS_execve,
	SYS_execveat,
	SYS_openat2,
	SYS_socketpair,
	SYS_bind,
	SYS_listen,
	SYS_accept4,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_pidfd_send_signal,
	SYS_unlinkat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_mkdirat,
	SYS_mknodat,
	SYS_fchmodat,
	SYS_fchownat,
	SYS_open_by_handle_at,
	SYS_mount,
	SYS_umount2,
	SYS_bpf,
	SYS_userfaultfd,
	SYS_clone3,
	SYS_clone,
	SYS_setsid,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_io_uring_setup,
	SYS_pidfd_getfd,
	SYS_perf_event_open,
	SYS_unshare,
	SYS_setns,
#ifdef __x86_64__
	SYS_creat,
	SYS_accept,
	SYS_fork,
	SYS_vfork,
	SYS_unlink,
	SYS_rename,
	SYS_link,
	SYS_symlink,
	SYS_mkdir,
	SYS_rmdir,
	SYS_mknod,
	SYS_chmod,
	SYS_chown,
#endif
};

void sandbox_close(bool may_open)
{
	enum { ALL = sizeof(refused) / sizeof(refused[0]) };
	const unsigned first = may_open ? OPENING : 0, count = ALL - first;
	struct sock_filter filter[ALL + 8];
	struct sock_fprog program = {.filter = filter};
	unsigned n = 0;

	if (!ARCH)
		return;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, arch));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						   offsetof(struct seccomp_data, nr));
	/* the x32 calls have numbers of their own */
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000,
						   (uint8_t)count, 0);
	for (unsigned i = 0; i < count; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, refused[first + i], (uint8_t)(count - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						   SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA));
	program.len = (unsigned short)n;
	end_unless_done(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}
