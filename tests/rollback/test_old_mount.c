/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "old.h"

#include "trees.h"

static struct old *old;

START_TEST(stays_below)
{
	struct stat st;

	old = old_begun();
	sh("cd " OLD_TREE
	   " && ln -s / out && ln -s a in && mkdir mount && mount -t tmpfs x mount && "
	   "touch mount/file");
	ck_assert_int_eq(old_stat(old, "out/etc", &st), -ENOTDIR);
	ck_assert_int_eq(old_stat(old, "in/1", &st), -ENOTDIR);
	ck_assert_int_eq(old_stat(old, "a/../../new", &st), -EXDEV);
	ck_assert_int_eq(old_stat(old, "mount/file", &st), -EXDEV);
	ck_assert_int_eq(old_create(old, "out/tmp/made", NULL), -ELOOP);
	ck_assert_int_eq(old_remove(old, "in/1", false), -ENOTDIR);
	ck_assert_int_eq(old_rename(old, "a/1", "out/tmp/1", false), -ELOOP);
	ck_assert_int_eq(old_stat(old, "out", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	old_close(old);
}
END_TEST

START_TEST(directory_that_moved)
{
	struct stat st;
	int ret;

	old = old_begun();
	ck_assert_int_eq(old_stat(old, "a/b/x", &st), 0);
	ck_assert_int_eq(old_rename(old, "a/b", "e/b", true), 0);
	ck_assert_int_eq(old_stat(old, "a/b/x", &st), -ENOENT);
	ck_assert_int_eq(old_stat(old, "e/b/x", &st), 0);
	g_autoptr(GHashTable) names = old_list(old, "e", &ret);
	ck_assert(g_hash_table_contains(names, "b"));
	ck_assert_uint_eq(g_hash_table_size(names), 2);
	g_autoptr(GHashTable) root = old_list(old, "", &ret);
	ck_assert(!g_hash_table_contains(root, OLD_STAGE));
	ck_assert_ptr_null(old_list(old, "none", &ret));
	ck_assert_int_eq(ret, -ENOENT);
	old_close(old);
}
END_TEST

/* What goes to a directory with a project becomes of that. */
START_TEST(projects)
{
	GError *error = NULL;
	int64_t skew;

	trees_make(FILL);
	sh("truncate -s 320M /mnt/image && mkfs.xfs -q /mnt/image && mount -o loop "
	   "/mnt/image " OLD_TREE " && cd " OLD_TREE
	   " && mkdir -p a/d/e b && touch a/f a/d/e/g && chattr -R -p 7 a && "
	   "chattr +P a a/d a/d/e && chattr -p 8 b && chattr +P b && chattr -p 42 . && chattr +P "
	   ".");
	old = old_open(OLD_TREE, &error);
	ck_assert(old_begin(old, &skew, &error));
	ck_assert_int_eq(old_rename(old, "a/f", OLD_STAGE "/1", false), 0);
	ck_assert_int_eq(old_rename(old, OLD_STAGE "/1", "b/f", false), 0);
	ck_assert_int_eq(old_rename(old, "a/d", "b/d", true), 0);
	sh("cd " OLD_TREE " && lsattr -pd b/f b/d b/d/e b/d/e/g | awk '$1 != 8 { exit 1 }'");
	old_close(old);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("old_mount");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, stays_below);
	tcase_add_test(tcase, directory_that_moved);
	tcase_add_test(tcase, projects);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
