/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/lease.h"
#include "retriever/compare/mend.h"
#include "retriever/compare/mend_mark.h"
#include "tests/retriever/core_copied.h"
#include "tests/durable.h"

#define CALLS_MAX 200

static struct core core;

/* A volume that is whole and not finished. */
static void make(void)
{
	core_make(&core);
	core_source_file(&core, "a", 2 * MIB + 5000, 1);
	core_source_file(&core, "d/b", 5000, 2);
	core_shell(&core, "setfattr -n user.x -v 1 $old/a; touch -d 2001-01-01 $old/d $old");
	core_open(&core);
	core_attach(&core);
	ck_assert_int_eq(migrate_record_drop(core.retriever->root_fd), 0); /* by hand */
	core_close(&core);
	core_shell(&core, "cp -a $old/. $new/");
}

static void plant(void)
{
	core_shell(&core, "fallocate -p -o 8192 -l 8192 $new/a; printf xyz | dd of=$new/a bs=1 "
			  "seek=2100000 conv=notrunc status=none; truncate -s 2101152 $new/a; "
			  "setfattr -x user.x $new/a; setfattr -n user.y -v 1 $new/a; chmod 600 "
			  "$new/a; touch -r $old/a $new/a; cp -a $new/a $new/../planted");
}

static int mend(const char *path)
{
	g_autofree char *text = NULL;
	int ret = mend_path(core.retriever, path, &text);

	ck_assert_ptr_nonnull(text);
	return ret;
}

static void is_right(void)
{
	core_shell(&core, "cmp $old/a $new/a; for f in $old $new; do (cd $f; stat -c "
			  "'%a %u %g %Y %s' a; getfattr -d a) > $f.said; done; cmp $old.said "
			  "$new.said; ! getfattr -m security.migrate.mending $new/a 2>&1 | grep .");
}

/* Right before it writes, somebody opens it, or tries to. */
static bool opened;

int __real_mend_mark(int fd, const struct migrate_binding *aside);
int __wrap_mend_mark(int fd, const struct migrate_binding *aside);
int __wrap_mend_mark(int fd, const struct migrate_binding *aside)
{
	g_autofree char *path = core_path(&core, "a");

	if (opened) {
		ck_assert_int_eq(open(path, O_WRONLY | O_NONBLOCK), -1);
		ck_assert_int_eq(errno, EAGAIN);
	}
	return __real_mend_mark(fd, aside);
}

/* What the mark stands for is durable when it goes. */
int __real_mend_unmark(int fd);
int __wrap_mend_unmark(int fd);
int __wrap_mend_unmark(int fd)
{
	ck_assert_durable_in(fd, "");
	return __real_mend_unmark(fd);
}

START_TEST(i7_opened_while_it_mends)
{
	make();
	plant();
	core_open(&core);
	opened = true;
	lease_break_s = 0; /* and is let in */
	ck_assert_int_eq(mend("a"), -EBUSY);
	core_shell(&core, "cmp $new/a $new/../planted");
	opened = false;
	ck_assert_int_eq(mend("a"), 0);
	is_right();
	core_close(&core);
}
END_TEST

START_TEST(goes_on_while_another_waits)
{
	make();
	plant();
	core_open(&core);
	opened = true;
	ck_assert_int_eq(mend("a"), 0);
	is_right();
	core_close(&core);
}
END_TEST

START_TEST(mends)
{
	int before;
	struct stat st, after;
	g_autofree char *path = NULL, *directory = NULL;

	make();
	path = core_path(&core, "a");
	directory = core_path(&core, "d");
	plant();
	ck_assert_int_eq(stat(path, &st), 0);
	core_open(&core);
	ck_assert_int_eq(mend("a"), 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(st.st_ino, after.st_ino);
	is_right();
	ck_assert_durable_in(core.retriever->private_fd, "aside/a");
	ck_assert_durable_in(core.retriever->private_fd, "aside");
	core_shell(&core, "cmp $new/../planted $new/.migrate/aside/a");
	ck_assert_int_eq(mend("a"), 0); /* nothing to do */
	core_shell(&core, "chmod 700 $new/d; touch -r $old/d $new/d");
	ck_assert_int_eq(mend("d"), 0);
	ck_assert_durable(directory);
	core_shell(&core, "[ $(stat -c %a $new/d) = $(stat -c %a $old/d) ]");
	/* not in a piece */
	core_shell(&core, "truncate -s 6000 $new/d/b; touch -r $old/d/b $new/d/b");
	ck_assert_int_eq(mend("d/b"), 0);
	core_shell(&core, "cmp $old/d/b $new/d/b");
	before = COUNT_GET(core.retriever, aside);
	ck_assert_int_eq(before, 2);
	core_free(&core);
}
END_TEST

START_TEST(refuses)
{
	g_autofree char *path = NULL;
	int fd, immutable;

	make();
	plant();
	core_open(&core);
	core_shell(&core, "chattr +i $new/a");
	immutable = mend("a");
	core_shell(&core, "chattr -i $new/a");
	ck_assert_int_eq(immutable, -ENOTSUP);
	core.retriever->capabilities.lacking = 1u << CAPABILITY_LEASES;
	ck_assert_int_eq(mend("a"), -ENOTSUP);
	core.retriever->capabilities.lacking = 0;
	path = core_path(&core, "a");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(mend("a"), -EBUSY);
	close(fd);
	core_shell(&core, "cmp $new/../planted $new/a; echo client >> $new/a; cp $new/a "
			  "$new/../client");
	ck_assert_int_eq(mend("a"), -EPERM);
	core_shell(&core, "cmp $new/../client $new/a");
	ck_assert_int_eq(mend("z"), -EIO);
	ck_assert_int_eq(mend("d/../a"), -EINVAL);
	ck_assert_int_eq(mend(""), -EINVAL);
	ck_assert_int_eq(mend("z/a"), -ENOENT);
	core_shell(&core, "rm $new/d/b; mkdir $new/d/b; touch -r $old/d/b $new/d/b; touch -r "
			  "$old/d $new/d");
	ck_assert_int_eq(mend("d/b"), -ENOTSUP);
	core_free(&core);
}
END_TEST

/* Kills itself at call n of those that change the disk.  Whether it came to its end before. */
static bool killed_at(int n)
{
	int status;
	pid_t child = fork();

	if (!child) {
		core_open(&core);
		atomic_store(&core_shared->left, n);
		atomic_store(&core_hook, core_kill_hook);
		_exit(mend("a") != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) || (WIFEXITED(status) && !WEXITSTATUS(status)));
	return WIFSIGNALED(status);
}

static void mend_in_child(int wanted)
{
	int status;
	pid_t child = fork();

	if (!child) {
		core_open(&core);
		_exit(mend("a") != wanted);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static void share(void)
{
	core_shared = mmap(NULL, sizeof *core_shared, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Wherever it is killed, the next one comes to the end, and what was there is in aside/. */
START_TEST(killed)
{
	int n = 1;

	share();
	make();
	plant();
	for (; killed_at(n); n++) {
		ck_assert_int_lt(n, CALLS_MAX);
		mend_in_child(0);
		is_right();
		core_shell(&core, "for f in $new/.migrate/aside/*; do cmp $f $new/../planted || "
				  "exit 1; done; rm -r $new/.migrate/aside; cat $new/../planted > "
				  "$new/a; truncate -s 2101152 $new/a; setfattr -x user.x $new/a; "
				  "setfattr -n user.y -v 1 $new/a; chmod 600 $new/a; touch -r "
				  "$old/a $new/a");
	}
	ck_assert_int_gt(n, 10);
}
END_TEST

/* Between the kill and the next one a client wrote: that stays. */
START_TEST(killed_and_written)
{
	unsigned marked = 0;

	share();
	for (int n = 1; n < CALLS_MAX; n++) {
		int fd;
		g_autofree char *path = NULL;
		bool is_marked, cut_short;

		make();
		plant();
		cut_short = killed_at(n);
		path = core_path(&core, "a");
		fd = open(path, O_RDWR | O_CLOEXEC);
		is_marked = mend_is_marked(fd, NULL);
		close(fd);
		if (is_marked) {
			core_shell(&core, "printf client | dd of=$new/a bs=1 seek=100 conv=notrunc "
					  "status=none; cp $new/a $new/../client");
			mend_in_child(-EPERM);
			core_shell(&core, "cmp $new/a $new/../client");
			marked++;
		}
		core_shell(&core, "rm -r $new $old");
		core_free(&core);
		if (!cut_short || marked == 3)
			break;
	}
	ck_assert_uint_ge(marked, 2);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("mend", 200);

	tcase_add_test(tcase, i7_opened_while_it_mends);
	tcase_add_test(tcase, goes_on_while_another_waits);
	tcase_add_test(tcase, mends);
	tcase_add_test(tcase, refuses);
	tcase_add_test(tcase, killed);
	tcase_add_test(tcase, killed_and_written);
	return run_tcase(tcase);
}
