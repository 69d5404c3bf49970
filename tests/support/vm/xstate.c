/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into User-Mode Linux.  That of 6.1 saves and restores 2,696 bytes of a process's
 * extended processor state, and the host takes that state as a whole only (EFAULT otherwise): a
 * guest dies with its first program where the processor has more, such as AMX with 11,008 bytes.
 * Here what is beyond is left as the process has it; programs of a guest do not use it.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long ptrace_fn(enum __ptrace_request request, ...);

static char state[1 << 16]; /* UML has one thread that traces */

long ptrace(enum __ptrace_request request, ...)
{
	ptrace_fn *real = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	struct iovec *part, all = {state, sizeof(state)};
	va_list args;
	pid_t pid;
	void *addr;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	part = va_arg(args, void *);
	va_end(args);
	if (request != PTRACE_SETREGSET || addr != (void *)NT_X86_XSTATE)
		return real(request, pid, addr, part);
	if (real(PTRACE_GETREGSET, pid, addr, &all) < 0)
		return -1;
	memcpy(state, part->iov_base, part->iov_len < all.iov_len ? part->iov_len : all.iov_len);
	return real(request, pid, addr, &all);
}
