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

#include "tests/retriever/core.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* before the call, and after it; may block */
typedef void (*core_hook_fn)(const char *call, int fd, bool after);
static _Atomic(core_hook_fn) core_hook;
static void (*core_seen)(const char *call, int fd); /* durable.h, after each */

static inline void core_hook_run(const char *call, int fd, bool after)
{
	core_hook_fn hook = atomic_load(&core_hook);
	int saved = errno;

	if (after && core_seen)
		core_seen(call, fd);
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

static _Atomic(const char *) core_fail_sync; /* one call, which fails */
static atomic_int core_fail_sync_errno = EIO;

/* Making durable is passed to the hook alone: no test cuts the power, and the disk is shared. */
#define CORE_HOOK_SYNC(name)                                                                       \
	int name(int fd)                                                                           \
	{                                                                                          \
		core_hook_run(#name, fd, false);                                                   \
		if (g_strcmp0(core_fail_sync, #name) == 0) {                                       \
			errno = core_fail_sync_errno;                                              \
			return -1;                                                                 \
		}                                                                                  \
		core_hook_run(#name, fd, true);                                                    \
		return 0;                                                                          \
	}

/* clang-format off */
CORE_HOOK_SYNC(fdatasync)
CORE_HOOK_SYNC(fsync)
CORE_HOOK_SYNC(syncfs)
CORE_HOOK(ftruncate, fd, (int fd, off_t size), fd, size)
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

/* Setting or removing an attribute whose name begins so fails with that errno, as on other file
 * systems. */
static _Atomic(const char *) core_fail_xattr;
static atomic_int core_fail_errno;
static atomic_bool core_fail_with_data; /* only where the file has some */

static inline bool core_xattr_fails(int fd, const char *name)
{
	const char *prefix = core_fail_xattr;
	struct stat st;

	if (!prefix || !g_str_has_prefix(name, prefix))
		return false;
	if (core_fail_with_data && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_blocks))
		return false;
	errno = core_fail_errno;
	return true;
}

/* What an object has for its attributes together, bytes, as in a block of ext4; 0: no limit. */
static atomic_size_t core_room;

static inline bool core_has_room(int fd, const char *name, size_t size)
{
	char list[1024];
	size_t takes = 16 + strlen(name) + size;
	ssize_t len = core_room ? flistxattr(fd, list, sizeof list) : 0;

	for (const char *has = list; has < list + len; has += strlen(has) + 1)
		if (strcmp(has, name))
			takes += 16 + strlen(has) + (size_t)fgetxattr(fd, has, NULL, 0);
	errno = ENOSPC;
	return !core_room || takes <= core_room;
}

int fremovexattr(int fd, const char *name)
{
	int ret;

	core_hook_run("fremovexattr", fd, false);
	if (core_xattr_fails(fd, name))
		return -1;
	ret = syscall(SYS_fremovexattr, fd, name);
	core_hook_run("fremovexattr", fd, true);
	return ret;
}

int lremovexattr(const char *path, const char *name)
{
	int ret;

	core_hook_run("lremovexattr", -1, false);
	ret = syscall(SYS_lremovexattr, path, name);
	core_hook_run("lremovexattr", -1, true);
	return ret;
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	int ret;

	core_hook_run("fsetxattr", fd, false);
	if (core_xattr_fails(fd, name) || !core_has_room(fd, name, size))
		return -1;
	ret = syscall(SYS_fsetxattr, fd, name, value, size, flags);
	core_hook_run("fsetxattr", fd, true);
	return ret;
}

int futimens(int fd, const struct timespec times[2])
{
	int ret;

	core_hook_run("futimens", fd, false);
	ret = syscall(SYS_utimensat, fd, NULL, times, 0);
	core_hook_run("futimens", fd, true);
	return ret;
}

static atomic_int core_fail_pwrite; /* errno, or 0 */

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	int fails = core_fail_pwrite;
	ssize_t ret;

	core_hook_run("pwrite", fd, false);
	if (fails) {
		errno = fails;
		return -1;
	}
	ret = syscall(SYS_pwrite64, fd, data, len, offset);
	core_hook_run("pwrite", fd, true);
	return ret;
}

#if !defined(__SANITIZE_THREAD__)
/*
 * Threads end with their pool here.  Those that wait for another pool's jobs, and the one that
 * newer releases of GLib make shared ones with, are of the process that had the first pool: what it
 * forks would leave its jobs to them.
 */
GThreadPool *g_thread_pool_new(GFunc fn, gpointer user, gint max, gboolean exclusive,
			       GError **error)
{
	GThreadPool *(*real)(GFunc, gpointer, gint, gboolean, GError **) =
		dlsym(RTLD_NEXT, "g_thread_pool_new");

	g_thread_pool_set_max_unused_threads(0);
	return real(fn, user, max, TRUE, error);
}

gboolean g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error)
{
	gboolean (*real)(GThreadPool *, gpointer, GError **) =
		dlsym(RTLD_NEXT, "g_thread_pool_push");
	gboolean ok = real(pool, data, error);

	core_run_pushed();
	return ok;
}
#endif

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

/* Between the test and the processes it forks. */
static struct core_shared {
	atomic_int left;   /* calls until the retriever kills itself; 0: it does not */
	atomic_int deaths; /* after each of which it was started again */
	atomic_int pid;
} * core_shared;

static inline void core_kill_hook(const char *call, int fd, bool after)
{
	if (!after && atomic_load(&core_shared->left) &&
	    atomic_fetch_sub(&core_shared->left, 1) == 1)
		kill(getpid(), SIGKILL);
}

static inline void core_serve(struct core *core)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	core_open(core);
	atomic_store(&core_hook, core_kill_hook);
	if (volume_state(core->retriever) == VOLUME_UNATTACHED)
		core_attach(core);
	g_main_loop_run(core->retriever->loop);
	_exit(1);
}

/*
 * Waits until this is the process's only thread: what one on its way out has locked would stay
 * locked in a child.
 */
static inline void core_be_alone(void)
{
#if !defined(__SANITIZE_THREAD__) /* which has threads of its own, and joins those of pools */
	struct stat st;

	while (stat("/proc/self/task", &st) || st.st_nlink != 3) /* two, and one for each */
		sched_yield();
#endif
}

/*
 * Starts a retriever in a process of its own, and again when it was killed, as an init system does;
 * call it before there are other threads.  nth: it kills itself before the nth call that passes the
 * hook, once; 0: never.
 */
static inline void core_supervise(struct core *core, int nth)
{
	pid_t pid;
	int status;

	if (!core_shared)
		core_shared =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(core_shared, MAP_FAILED);
	atomic_store(&core_shared->deaths, 0);
	atomic_store(&core_shared->pid, 0);
	atomic_store(&core_shared->left, nth);
	core_be_alone();
	fflush(NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	core->child = fork();
	ck_assert_int_ge(core->child, 0);
	if (core->child) {
		setpgid(core->child, core->child);
		return;
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		pid = fork();
		if (pid == 0)
			core_serve(core);
		atomic_store(&core_shared->pid, pid);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
		    WTERMSIG(status) != SIGKILL)
			_exit(1);
		atomic_fetch_add(&core_shared->deaths, 1);
	}
}

/* Whether it has come to the nth call. */
static inline bool core_killed(void)
{
	return atomic_load(&core_shared->left) <= 0;
}

static inline int core_deaths(void)
{
	return atomic_load(&core_shared->deaths);
}

/* Kills the retriever, which comes back. */
static inline void core_kill(struct core *core)
{
	int before = core_deaths();

	ck_assert_int_eq(kill(atomic_load(&core_shared->pid), SIGKILL), 0);
	while (core_deaths() == before)
		sched_yield();
}

/* Kills it for good. */
static inline void core_end_supervision(struct core *core)
{
	kill(-core->child, SIGKILL);
	while (waitpid(-core->child, NULL, 0) > 0) /* both */
		;
	core->child = 0;
}

#endif
