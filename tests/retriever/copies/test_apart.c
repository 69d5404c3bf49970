/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/apart.h"

#include "tests/retriever/core_copy.h"
#include "tests/durable.h"

static struct stat stat_of(const char *name)
{
	g_autofree char *path = core_path(&core, name);
	struct stat st;

	ck_assert_msg(lstat(path, &st) == 0, "%s", name);
	return st;
}

static int start(void)
{
	g_autofree char *aside = NULL;

	core_make(&core);
	core_start(&core);
	shell("mkdir -p %s/.migrate/aside/d", core.root);
	aside = core_path(&core, ".migrate/aside");
	return open(aside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The tree keeps what it has, and nothing is left where copies are made. */
static void end(int aside)
{
	shell("test -z \"$(ls -A %s/.migrate/staging)\"", core.root);
	core_free_with(&core, aside);
}

START_TEST(a_copy_of_its_own)
{
	int aside = start();
	struct stat was, is;

	shell("cd %s && printf text >f && truncate -s 1M f && printf end >>f && chmod 640 f && "
	      "chown 12:34 f && setfattr -n user.a -v b f && touch -d 2001-02-03 f && "
	      "ln f .migrate/aside/f && ln -s nowhere l && ln l .migrate/aside/d/l && "
	      "mkfifo p && ln p .migrate/aside/d/p && : >empty && ln empty .migrate/aside/empty",
	      core.root);
	was = stat_of("f");
	ck_assert_int_eq(apart_make(core.retriever, aside, "f"), 0);
	ck_assert_int_eq(apart_make(core.retriever, aside, "empty"), 0);
	ck_assert_int_eq(apart_make(core.retriever, aside, "d"), 0);
	ck_assert_durable_in(aside, "f");
	is = stat_of(".migrate/aside/f");
	ck_assert_int_ne(is.st_ino, was.st_ino);
	ck_assert_int_eq(is.st_nlink, 1);
	ck_assert_int_eq(stat_of("f").st_ino, was.st_ino);
	ck_assert_int_eq(stat_of("f").st_nlink, 1);
	ck_assert(is.st_mode == was.st_mode && is.st_uid == 12 && is.st_gid == 34);
	ck_assert_int_eq(is.st_mtime, was.st_mtime);
	ck_assert_int_lt(is.st_blocks, 512); /* holes stay */
	shell("cd %s && cmp f .migrate/aside/f && "
	      "test \"$(getfattr --only-values -n user.a .migrate/aside/f)\" = b && "
	      "test \"$(readlink .migrate/aside/d/l)\" = nowhere && test -p .migrate/aside/d/p && "
	      "! find .migrate/aside -links +1 ! -type d | grep .",
	      core.root);
	end(aside);
}
END_TEST

/* Those that have all their names there stay one file; what is gone is no fault. */
START_TEST(names_among_themselves)
{
	int aside = start();

	shell("cd %s/.migrate/aside/d && echo one >a && ln a b && echo two >c && ln c ../../../c "
	      "&& "
	      "ln c e",
	      core.root);
	ck_assert_int_eq(apart_make(core.retriever, aside, "d"), 0);
	ck_assert_int_eq(stat_of(".migrate/aside/d/a").st_ino,
			 stat_of(".migrate/aside/d/b").st_ino);
	ck_assert_int_eq(stat_of("c").st_nlink, 1);
	shell("cd %s && cmp c .migrate/aside/d/c && cmp c .migrate/aside/d/e", core.root);
	ck_assert_int_eq(apart_make(core.retriever, aside, "none"), 0);
	end(aside);
}
END_TEST

/* By the job that begins when something is set aside, in the tree and under another name. */
START_TEST(what_is_set_aside)
{
	g_autofree char *from = NULL;
	int aside = start(), root;

	shell("cd %s && echo one >a && ln a b && mkdir t && ln a t/c && echo x >.migrate/aside/b",
	      core.root);
	from = core_path(&core, ".");
	root = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(aside_put(core.retriever, root, "b", "", "b"), 0);
	ck_assert_int_eq(aside_put(core.retriever, root, "t", "", "t"), 0);
	jobs_wait(core.retriever->jobs);
	ck_assert_int_eq(stat_of("a").st_nlink, 1);
	shell("cd %s && cmp a .migrate/aside/b.~1~ && cmp a .migrate/aside/t/c && "
	      "test \"$(cat .migrate/aside/b)\" = x",
	      core.root);
	close(root);
	end(aside);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("apart", 60);

	tcase_add_test(tcase, a_copy_of_its_own);
	tcase_add_test(tcase, names_among_themselves);
	tcase_add_test(tcase, what_is_set_aside);
	return run_tcase(tcase);
}
