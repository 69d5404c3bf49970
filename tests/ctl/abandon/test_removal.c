/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume's root in a scratch directory; and killed at each step. */
#include "ctl/abandon/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "common/record.h"
#include "lib/base/filetree.h"
#include "lib/report/omissions.h"
#include "retriever/objects/private.h"
#include "tests/suite.h"

static char top[64];
static int root;
static unsigned steps, end_at; /* of what changes the tree */
static bool armed;	       /* it is killed at end_at */
static const char *stays;      /* a name that cannot be removed */
static const char *stuck;      /* one that cannot be opened */
static const char *subvolume;  /* one that is another subvolume's */

/* What a power cut might undo; unsafe: so much came too early for that. */
static unsigned unsafe;
static bool unmarked, removed, root_changed;

int syncfs(int fd)
{
	unmarked = removed = false;
	return (int)syscall(SYS_syncfs, fd);
}

int fsync(int fd)
{
	root_changed = root_changed && fd != root;
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	unmarked = unmarked || !strcmp(to, PRIVATE_ABANDONED);
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

static void step(void)
{
	if (armed && ++steps == end_at)
		raise(SIGKILL);
}

int unlinkat(int fd, const char *name, int flags)
{
	if (stays && !strcmp(name, stays)) {
		errno = EPERM;
		return -1;
	}
	const int result = (int)syscall(SYS_unlinkat, fd, name, flags);

	unsafe += unmarked;
	removed = true;
	step();
	return result;
}

int openat(int fd, const char *name, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (stuck && !strcmp(name, stuck)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_openat, fd, name, flags, mode);
}

int fstatat(int fd, const char *name, struct stat *st, int flags)
{
	const int result = (int)syscall(SYS_newfstatat, fd, name, st, flags);

	if (!result && subvolume && !strcmp(name, subvolume))
		st->st_dev++;
	return result;
}

int fremovexattr(int fd, const char *name)
{
	const int result = (int)syscall(SYS_fremovexattr, fd, name);

	if (fd == root) {
		unsafe += removed && !strcmp(name, XATTR_TOLD);
		root_changed = true;
	}
	step();
	return result;
}

static void record(const char *path)
{
	struct migrate_record rec = {.state = MIGRATE_PARTIAL, .size = 4};
	struct stat st;
	int fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	fstat(fd, &st);
	if (S_ISDIR(st.st_mode))
		rec.state = MIGRATE_FILLED;
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	migrate_record_clear(&rec);
	close(fd);
}

static void put(const char *path, const char *text)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Attached, with two stubs and two whole files. */
static void fill(void)
{
	const char *const directories[] = {".migrate", ".migrate/links", "d", "d/e", "whole"};
	int private;

	for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
		ck_assert_int_eq(mkdirat(root, directories[i], 0700), 0);
	private = openat(root, ".migrate", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(migrate_private_mark(private), 0);
	close(private);
	put("stub", "zero");
	put("d/e/stub", "zero");
	put("d/file", "text");
	put("whole/file", "words");
	put("d/empty", "");
	ck_assert_int_eq(symlinkat("/etc", root, "d/link"), 0);
	record("stub");
	record("d/e/stub");
	record("d/e");
	record("d");
	ck_assert_int_eq(left_out_attached(root), 0);
	record(".");
}

static void set_up(void)
{
	make_scratch(top, "removal");
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
	fill();
}

static void tear_down(void)
{
	g_autofree char *name = g_path_get_basename(top);
	int above = openat(root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	stays = stuck = subvolume = NULL;
	own_remove(above, name);
	close(above);
	close(root);
}

static bool is_there(const char *path)
{
	return faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void is_empty(void)
{
	struct removal found;

	ck_assert_int_eq(own_count(root, ".", 100), 1);
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(!found.attached && !found.begun);
	ck_assert_int_eq(fgetxattr(root, MIGRATE_XATTR, NULL, 0), -1);
	ck_assert(!omissions_was_attached(root));
}

START_TEST(what_is_there)
{
	struct removal found;

	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.attached && !found.adopted && !found.begun);
	ck_assert_uint_eq(found.whole, 2);
	ck_assert_uint_eq(found.whole_bytes, 9);
	ck_assert_uint_eq(found.unfinished, 2);
	ck_assert_uint_eq(found.aside, 0);
	ck_assert_int_eq(mkdirat(root, ".migrate/aside", 0700), 0);
	put(".migrate/aside/f", "x");
	ck_assert_int_eq(mkdirat(root, ".migrate/prior", 0700), 0);
	put(".migrate/prior.conf", "[prior]\nadopted=true\n");
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.adopted);
	ck_assert_uint_eq(found.aside, 1);
}
END_TEST

START_TEST(all_goes)
{
	char *failed;

	ck_assert_int_eq(removal_run(root, false, &failed), 0);
	ck_assert_ptr_null(failed);
	is_empty();
	ck_assert(removed && !root_changed);
	ck_assert_uint_eq(unsafe, 0);
	ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
	ck_assert_int_eq(removal_run(root, false, &failed), 0); /* again */
}
END_TEST

START_TEST(what_is_whole_is_kept)
{
	char *failed;

	ck_assert_int_eq(mkdirat(root, ".migrate/aside", 0700), 0);
	put(".migrate/aside/f", "x");
	ck_assert_int_eq(removal_run(root, true, &failed), 0);
	ck_assert_ptr_null(failed);
	ck_assert(!is_there("stub") && !is_there("d/e") && !is_there(".migrate"));
	ck_assert(is_there("d/file") && is_there("d/link") && is_there("d/empty"));
	ck_assert(is_there("whole/file") && is_there(REMOVAL_KEPT_ASIDE "/f"));
	ck_assert(!is_there(REMOVAL_KEPT_PRIOR));
	ck_assert_int_eq(migrate_has_record(root), 0);
	int fd = openat(root, "d", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(migrate_has_record(fd), 0);
	close(fd);
}
END_TEST

/* What cannot be looked at is not taken for unfinished; what is damaged is. */
START_TEST(what_cannot_be_looked_at_is_kept)
{
	g_autofree char *failed = NULL;
	struct removal found;
	int damaged = openat(root, "d/file", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(fsetxattr(damaged, MIGRATE_XATTR, "nothing", 7, 0), 0);
	close(damaged);
	put("whole/stuck", "words");
	stuck = "stuck";
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert_uint_eq(found.whole, 2);
	ck_assert_uint_eq(found.unfinished, 3);
	ck_assert_int_eq(removal_run(root, true, &failed), -EIO);
	ck_assert_str_eq(failed, "whole/stuck");
	ck_assert(is_there("whole/stuck") && !is_there("stub") && !is_there("d/file"));
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.attached);
	stuck = NULL;
	g_clear_pointer(&failed, g_free);
	ck_assert_int_eq(removal_run(root, true, &failed), 0);
	ck_assert(is_there("whole/stuck") && !is_there(".migrate"));
}
END_TEST

START_TEST(what_a_copy_set_aside)
{
	static const char *const directories[] = {".migrate/copy", ".migrate/copy/.migrate",
						  ".migrate/copy/.migrate/aside"};
	struct removal found;
	char *failed;

	ck_assert_int_eq(fremovexattr(root, MIGRATE_XATTR), 0);
	ck_assert_int_eq(fchmodat(root, ".migrate", S_ISVTX | 0700, 0), 0);
	for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
		ck_assert_int_eq(mkdirat(root, directories[i], 0700), 0);
	put(".migrate/copy/.migrate/aside/f", "alone");
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(!found.attached);
	ck_assert_uint_eq(found.aside, 1);
	ck_assert_int_eq(removal_run(root, true, &failed), 0);
	ck_assert(is_there(REMOVAL_KEPT_ASIDE "/f") && !is_there(".migrate"));
}
END_TEST

/* It was begun, and did not end; then somebody put files there. */
START_TEST(what_was_made_since)
{
	const struct timespec times[] = {{.tv_sec = time(NULL) + 3600},
					 {.tv_sec = time(NULL) + 3600}};
	g_autofree char *failed = NULL;
	struct removal found;

	stays = "file";
	ck_assert_int_eq(removal_run(root, false, &failed), -EPERM);
	put("d/new", "words");
	ck_assert_int_eq(utimensat(root, "d/new", times, 0), 0);
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.begun);
	ck_assert_uint_eq(found.made, 1);
	ck_assert_str_eq(found.first_made->pdata[0], "d/new");
	removal_clear(&found);
}
END_TEST

/* Often the reason to abandon it: no data can be written. */
START_TEST(full)
{
	const struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	char *failed;
	int ret;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none); /* for check, too, which writes what is asserted */
	ret = removal_run(root, false, &failed);
	setrlimit(RLIMIT_FSIZE, &all);
	ck_assert_int_eq(ret, 0);
	is_empty();
}
END_TEST

START_TEST(subvolumes_stay)
{
	g_autofree char *failed = NULL;
	struct removal found;

	subvolume = "whole";
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert_uint_eq(found.mounts, 1);
	ck_assert_str_eq(found.first_mount, "whole");
	ck_assert_uint_eq(found.whole, 1);
	removal_clear(&found);
	ck_assert_int_eq(removal_run(root, false, &failed), 0);
	ck_assert(is_there("whole/file") && !is_there("d/file") && !is_there(".migrate"));
}
END_TEST

START_TEST(an_adopted_copy_is_kept)
{
	char *failed;

	ck_assert_int_eq(mkdirat(root, ".migrate/prior", 0700), 0);
	put(".migrate/prior/f", "before");
	put(".migrate/prior.conf", "[prior]\nadopted=true\n");
	ck_assert_int_eq(removal_run(root, true, &failed), 0);
	ck_assert(is_there(REMOVAL_KEPT_PRIOR "/f"));
}
END_TEST

/* The tree is in .migrate/ already. */
START_TEST(an_attach_was_cut_short)
{
	struct removal found;
	char *failed;

	ck_assert_int_eq(fremovexattr(root, MIGRATE_XATTR), 0);
	ck_assert_int_eq(fchmodat(root, ".migrate", S_ISVTX | 0700, 0), 0);
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(!found.attached);
	ck_assert_int_eq(mkdirat(root, ".migrate/prior", 0700), 0);
	put(".migrate/prior/f", "before");
	put(".migrate/prior.conf", "[prior]\nadopted=true\n");
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.attached && found.adopted);
	ck_assert_int_eq(removal_run(root, true, &failed), 0);
	ck_assert(is_there(REMOVAL_KEPT_PRIOR "/f") && is_there("whole/file"));
}
END_TEST

START_TEST(a_retriever_runs)
{
	char *failed;
	int private = openat(root, ".migrate", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(flock(private, LOCK_EX), 0);
	ck_assert_int_eq(removal_run(root, false, &failed), -EBUSY);
	ck_assert_ptr_null(failed);
	ck_assert(is_there("stub") && is_there("whole/file"));
	close(private);
}
END_TEST

/* The volume is attached until the rest is gone. */
START_TEST(what_cannot_go)
{
	g_autofree char *failed = NULL;
	struct removal found;

	stays = "file";
	ck_assert_int_eq(removal_run(root, false, &failed), -EPERM);
	ck_assert(!strcmp(failed, "d/file") || !strcmp(failed, "whole/file"));
	ck_assert(!is_there("stub"));
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert(found.attached && found.begun);
	stays = NULL;
	g_clear_pointer(&failed, g_free);
	ck_assert_int_eq(removal_run(root, false, &failed), 0);
	is_empty();
}
END_TEST

START_TEST(mounts_stay)
{
	g_autofree char *place = g_build_filename(top, "d/e", NULL), *failed = NULL;
	struct removal found;

	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("/etc", place, NULL, MS_BIND, NULL), 0);
	close(root);
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with these mounts */
	ck_assert_int_eq(removal_look(root, &found), 0);
	ck_assert_uint_eq(found.mounts, 1);
	ck_assert_str_eq(found.first_mount, "d/e");
	removal_clear(&found);
	ck_assert_int_eq(removal_run(root, false, &failed), 0);
	ck_assert(is_there("d/e/passwd") && !is_there("stub") && !is_there("d/file"));
	ck_assert_int_eq(access("/etc/passwd", F_OK), 0);
	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
}
END_TEST

/* By what it was killed in, the next run ends it; nothing that is unfinished looks whole. */
START_TEST(killed_at_each_step)
{
	const char *const stubs[] = {"stub", "d/e/stub"};
	int status;

	for (end_at = 1;; end_at++) {
		struct removal found;
		char *failed;
		pid_t child = fork();

		armed = child == 0;
		if (child == 0)
			_exit(removal_run(root, _i, &failed) != 0);
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		if (WIFEXITED(status))
			break;
		ck_assert_int_eq(removal_look(root, &found), 0);
		for (size_t i = 0; i < G_N_ELEMENTS(stubs); i++) {
			int fd = openat(root, stubs[i], O_PATH | O_CLOEXEC);

			ck_assert(fd < 0 || (found.attached && migrate_has_record(fd) == 1));
			if (fd >= 0)
				close(fd);
		}
		ck_assert_int_eq(removal_run(root, _i, &failed), 0);
		if (_i)
			ck_assert(is_there("d/file") && is_there("whole/file"));
		else
			is_empty();
		own_remove(root, "d");
		own_remove(root, "whole");
		fill();
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_uint_gt(end_at, 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("removal");
	TCase *tcase = tcase_create("removal");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, what_is_there);
	tcase_add_test(tcase, all_goes);
	tcase_add_test(tcase, what_is_whole_is_kept);
	tcase_add_test(tcase, what_cannot_be_looked_at_is_kept);
	tcase_add_test(tcase, what_a_copy_set_aside);
	tcase_add_test(tcase, what_was_made_since);
	tcase_add_test(tcase, full);
	tcase_add_test(tcase, subvolumes_stay);
	tcase_add_test(tcase, an_adopted_copy_is_kept);
	tcase_add_test(tcase, an_attach_was_cut_short);
	tcase_add_test(tcase, a_retriever_runs);
	tcase_add_test(tcase, what_cannot_go);
	tcase_add_test(tcase, mounts_stay);
	tcase_add_loop_test(tcase, killed_at_each_step, 0, 2);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
