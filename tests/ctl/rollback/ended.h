/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of the way back that are killed, or asked to end, after one of the steps that change the old
 * server's tree, or the notes of what is done.  The linker wraps these (CMakeLists.txt).
 */
#ifndef TESTS_CTL_ROLLBACK_ENDED_H
#define TESTS_CTL_ROLLBACK_ENDED_H

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ctl/rollback/attrs.h"
#include "tests/ctl/rollback/trees.h"

/* Shared with children: which step ends it, 0: none; and how many there were. */
static struct {
	unsigned end_at, steps, first; /* first: of a run that was not ended */
} * shared;
static bool asked;	      /* and not killed */
static void (*intrude)(void); /* nor that: somebody does this right before the step */
static unsigned again = 1;    /* and before so many steps in a row */
static int failure;	      /* nor that: the step does nothing, and returns this */

/* With steps that only look, but for the last ones. */
static inline void before_step(void)
{
	const unsigned number =
		intrude ? __atomic_add_fetch(&shared->steps, 1, __ATOMIC_RELAXED) : 0;

	if (shared->end_at && number >= shared->end_at && number - shared->end_at < again)
		intrude();
}

static inline bool fails_now(void)
{
	return failure && __atomic_add_fetch(&shared->steps, 1, __ATOMIC_RELAXED) == shared->end_at;
}

static inline void step(void)
{
	if (intrude || failure)
		return;
	if (__atomic_add_fetch(&shared->steps, 1, __ATOMIC_RELAXED) != shared->end_at)
		return;
	if (!asked)
		raise(SIGKILL);
	stop_now = true;
}

#define WRAP(name, parameters, arguments)                                                          \
	int __real_##name parameters;                                                              \
	int __wrap_##name parameters;                                                              \
	int __wrap_##name parameters                                                               \
	{                                                                                          \
		before_step();                                                                     \
		int result = fails_now() ? failure : __real_##name arguments;                      \
		step();                                                                            \
		return result;                                                                     \
	}

WRAP(target_mkdir, (struct target * target, const char *path), (target, path))
WRAP(target_create, (struct target * target, const char *path, struct target_file **file),
     (target, path, file))
WRAP(target_symlink, (struct target * target, const char *text, const char *path),
     (target, text, path))
WRAP(target_mknod, (struct target * target, const char *path, mode_t mode, dev_t device),
     (target, path, mode, device))
WRAP(target_link, (struct target * target, const char *from, const char *to), (target, from, to))
WRAP(target_rename, (struct target * target, const char *from, const char *to, bool directory),
     (target, from, to, directory))
WRAP(target_rename_new, (struct target * target, const char *from, const char *to, bool directory),
     (target, from, to, directory))
WRAP(target_replace, (struct target * target, const char *from, const char *to, const char *out),
     (target, from, to, out))
WRAP(target_remove, (struct target * target, const char *path, bool directory),
     (target, path, directory))
WRAP(attrs_give_times, (int fd, const struct attrs *attrs), (fd, attrs))
WRAP(attrs_give,
     (int fd, const struct attrs *attrs, const struct volume_config *config, attrs_lost_fn lost,
      void *arg),
     (fd, attrs, config, lost, arg))

bool __real_ledger_commit(struct ledger *ledger, GError **error);
bool __wrap_ledger_commit(struct ledger *ledger, GError **error);
bool __wrap_ledger_commit(struct ledger *ledger, GError **error)
{
	before_step();
	bool good = __real_ledger_commit(ledger, error);
	step();
	return good;
}

static inline void share_steps(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
}

static inline void start(pid_t *pid)
{
	*pid = fork();
	ck_assert_int_ge(*pid, 0);
}

static inline int end_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* A run that ends after that step, if it comes to it; 0: that is not ended.  As waitpid() says. */
static inline int go_to_step(unsigned number)
{
	pid_t pid;

	trees_commit();
	journal_store_close(journal);
	shared->steps = 0;
	shared->end_at = number;
	start(&pid);
	if (!pid) {
		struct way way;

		way_open(&way);
		way_go(&way);
		way_close(&way);
		_exit(0);
	}
	int status = end_of(pid);
	shared->end_at = 0;
	killed = true; /* or what it noted of the root is not known here */
	open_store();
	return status;
}

#endif
