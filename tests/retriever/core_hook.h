/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calls that change the new file system or make it durable, passed through a hook of the
 * test's: to hold one back, to count them, or to be killed at the nth.  Include in one file of a
 * program.
 *
 * And a retriever in a process of its own, for tests that kill it.
 */
#ifndef TESTS_RETRIEVER_CORE_HOOK_H
#define TESTS_RETRIEVER_CORE_HOOK_H

#include "core.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

/* before the call, and after it; may block */
typedef void (*core_hook_fn)(const char *call, int fd, bool after);
static _Atomic(core_hook_fn) core_hook;

static inline void core_hook_run(const char *call, int fd, bool after)
{
	core_hook_fn hook = atomic_load(&core_hook);
	int saved = errno;

	if (hook)
		hook(call, fd, after);
	errno = saved;
}

#define CORE_HOOK(name, fd, parameters, ...)                                                       \
	int name parameters                                                                        \
	{                                                                                          \
		int ret_;                                                                          \
                                                                                                   \
		core_hook_run(#name, fd, false);                                                   \
		ret_ = syscall(SYS_##name, __VA_ARGS__);                                           \
		core_hook_run(#name, fd, true);                                                    \
		return ret_;                                                                       \
	}

/* Making durable is passed to the hook alone: no test cuts the power, and the disk is shared. */
#define CORE_HOOK_SYNC(name)                                                                       \
	int name(int fd)                                                                           \
	{                                                                                          \
		core_hook_run(#name, fd, false);                                                   \
		core_hook_run(#name, fd, true);                                                    \
		return 0;                                                                          \
	}

/* clang-format off */
CORE_HOOK_SYNC(fdatasync)
CORE_HOOK_SYNC(fsync)
CORE_HOOK_SYNC(syncfs)
CORE_HOOK(ftruncate, fd, (int fd, off_t size), fd, size)
CORE_HOOK(fsetxattr, fd, (int fd, const char *name, const void *value, size_t size, int flags),
	  fd, name, value, size, flags)
CORE_HOOK(fremovexattr, fd, (int fd, const char *name), fd, name)
CORE_HOOK(fchown, fd, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
CORE_HOOK(fchmod, fd, (int fd, mode_t mode), fd, mode)
CORE_HOOK(linkat, to, (int from, const char *name, int to, const char *as, int flags),
	  from, name, to, as, flags)
CORE_HOOK(renameat2, to, (int from, const char *name, int to, const char *as, unsigned flags),
	  from, name, to, as, flags)
CORE_HOOK(renameat, to, (int from, const char *name, int to, const char *as), from, name, to, as)
CORE_HOOK(mkdirat, fd, (int fd, const char *name, mode_t mode), fd, name, mode)
CORE_HOOK(symlinkat, fd, (const char *target, int fd, const char *name), target, fd, name)
CORE_HOOK(unlinkat, fd, (int fd, const char *name, int flags), fd, name, flags)
/* clang-format on */

int futimens(int fd, const struct timespec times[2])
{
	int ret;

	core_hook_run("futimens", fd, false);
	ret = syscall(SYS_utimensat, fd, NULL, times, 0);
	core_hook_run("futimens", fd, true);
	return ret;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	ssize_t ret;

	core_hook_run("pwrite", fd, false);
	ret = syscall(SYS_pwrite64, fd, data, len, offset);
	core_hook_run("pwrite", fd, true);
	return ret;
}

/* ---- holding one kind of call back ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *call;
	unsigned held;
	bool released;
} core_holding = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void core_hold_hook(const char *call, int fd, bool after)
{
	if (after)
		return;
	pthread_mutex_lock(&core_holding.lock);
	if (strstr(core_holding.call, call) && !core_holding.released) {
		core_holding.held++;
		pthread_cond_broadcast(&core_holding.changed);
		while (!core_holding.released)
			pthread_cond_wait(&core_holding.changed, &core_holding.lock);
	}
	pthread_mutex_unlock(&core_holding.lock);
}

/* calls: their names, separated by spaces.  Every thread that makes one waits before it. */
static inline void core_hold(const char *calls)
{
	pthread_mutex_lock(&core_holding.lock);
	core_holding.call = calls;
	core_holding.held = 0;
	core_holding.released = false;
	pthread_mutex_unlock(&core_holding.lock);
	atomic_store(&core_hook, core_hold_hook);
}

static inline void core_wait_held(unsigned n)
{
	pthread_mutex_lock(&core_holding.lock);
	while (core_holding.held < n)
		pthread_cond_wait(&core_holding.changed, &core_holding.lock);
	pthread_mutex_unlock(&core_holding.lock);
}

static inline void core_release(void)
{
	pthread_mutex_lock(&core_holding.lock);
	core_holding.released = true;
	pthread_cond_broadcast(&core_holding.changed);
	pthread_mutex_unlock(&core_holding.lock);
	atomic_store(&core_hook, NULL);
}

/* ---- a retriever that is killed ---- */

static struct core_shared {
	atomic_int left;  /* calls until it kills itself; 0: does not */
	atomic_int calls; /* counted so far */
} * core_shared;

static inline void core_kill_hook(const char *call, int fd, bool after)
{
	if (after)
		return;
	atomic_fetch_add(&core_shared->calls, 1);
	if (atomic_load(&core_shared->left) && atomic_fetch_sub(&core_shared->left, 1) == 1)
		kill(getpid(), SIGKILL);
}

/* nth: the call before which it kills itself, 0: it does not. */
static inline void core_fork(struct core *core, int nth)
{
	int ready[2];
	char c;

	if (!core_shared)
		core_shared =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	fflush(NULL);
	core->child = fork();
	if (core->child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		core->volume = NULL;
		core_open(core);
		if (volume_state(core->retriever) == VOLUME_UNATTACHED)
			core_attach(core);
		atomic_store(&core_shared->calls, 0);
		atomic_store(&core_shared->left, nth);
		atomic_store(&core_hook, core_kill_hook);
		ck_assert_int_eq(write(ready[1], "r", 1), 1);
		g_main_loop_run(core->retriever->loop);
		_exit(0);
	}
	ck_assert_int_gt(core->child, 0);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
}

/* Waits for its death by itself, or kills it. */
static inline void core_reap(struct core *core, bool kill_it)
{
	int status;

	if (kill_it)
		kill(core->child, SIGKILL);
	ck_assert_int_eq(waitpid(core->child, &status, 0), core->child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	core->child = 0;
}

#endif
