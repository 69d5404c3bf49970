/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "carry.h"

#include "trees.h"

#define FILL                                                                                       \
	"mkdir -p a/b/c d e/empty && for i in 1 2 3 4 5 6 7 8; do echo old$i >a/$i; done && "      \
	"echo x >a/b/x && echo y >a/b/c/y && ln a/1 d/link && ln -s 1 a/symlink && "               \
	"mkfifo d/fifo && find . -exec touch -hd 2001-02-03T04:05:06.789 {} +"

START_TEST(nothing)
{
	trees_make(FILL);
	go_back(0);
	same_trees();
}
END_TEST

START_TEST(every_kind)
{
	trees_make(FILL);
	make("a/new", "echo new >a/new && chmod 4711 a/new && chown 5:6 a/new");
	make("a/new.link", "ln a/new a/new.link");
	make("n", "mkdir n && chmod 2770 n");
	make("n/m", "mkdir n/m");
	make("n/m/deep", "echo deep >n/m/deep");
	make("n/pipe", "mkfifo n/pipe");
	make("n/symlink", "ln -s nowhere n/symlink && chown -h 7:8 n/symlink");
	make("n/sparse", "truncate -s 10M n/sparse && echo end >>n/sparse");
	change("a/2", JOURNAL_DATA, "echo changed >a/2");
	change("a/1", JOURNAL_DATA, "echo linked >>a/1");
	change("a/3", JOURNAL_META, "chmod 640 a/3 && chown 11:12 a/3 && setfacl -m u:77:rx a/3");
	change("e", JOURNAL_META, "chmod 1777 e");
	change("a/symlink", JOURNAL_META, "touch -hd 2011-01-01 a/symlink");
	move("a/4", "d/moved");
	move("a/b", "d/b");
	take_away("a/5");
	take_away("e/empty");
	go_back(0);
	same_trees();
	go_back(0);
	same_trees();
}
END_TEST

START_TEST(names_in_circles)
{
	trees_make(FILL);
	move("a/1", "a/t");
	move("a/2", "a/1");
	move("a/3", "a/2");
	move("a/t", "a/3");
	move("a/b", "e/b"); /* a directory and its parent change places */
	move("a", "e/b/c/a");
	move("e/b", "a");
	move("e", "a/c/e");
	go_back(0);
	same_trees();
	move("a", "z");
	move("z/c/a/3", "z/3");
	go_back(0);
	same_trees();
}
END_TEST

START_TEST(replaced)
{
	trees_make(FILL);
	make("a/6.tmp", "echo edited >a/6.tmp");
	move("a/6.tmp", "a/6");
	move("a/7", "a/8");
	take_away("a/2");
	make("a/2", "mkdir a/2");
	make("a/2/in", "echo in >a/2/in");
	take_away("e/empty");
	take_away("e");
	make("e", "echo file >e");
	make("d/tmp", "ln a/3 d/tmp");
	go_back(0);
	same_trees();
	take_away("a/3");
	move("a/6", "a/2/in");
	change("d/tmp", JOURNAL_DATA, "echo more >>d/tmp");
	go_back(0);
	same_trees();
}
END_TEST

/* Names that come and go again leave a time. */
START_TEST(times_of_directories)
{
	trees_make(FILL);
	make("a/b/tmp", "echo >a/b/tmp");
	take_away("a/b/tmp");
	move("a/4", "e/4");
	move("e/4", "a/4");
	go_back(0);
	same_trees();
}
END_TEST

START_TEST(trees_that_go_and_come)
{
	trees_make(FILL);
	take_away("a/b/c/y");
	take_away("a/b/c");
	take_away("a/b/x");
	take_away("a/b");
	/* from elsewhere on the file system: what is in it has no rows */
	sh("mkdir -p " NEW_TREE "/in/side && echo 1 >" NEW_TREE "/in/side/1 && ln " NEW_TREE
	   "/in/side/1 " NEW_TREE "/in/2");
	note_made("in");
	go_back(0);
	same_trees();
}
END_TEST

START_TEST(conflicts)
{
	trees_make(FILL);
	sh("echo theirs >>" OLD_TREE "/a/1; echo theirs >" OLD_TREE "/a/2; chmod 600 " OLD_TREE
	   "/a/3; echo >" OLD_TREE "/e/empty/theirs; echo >" OLD_TREE "/a/n; rm " OLD_TREE "/a/7");
	change("a/1", JOURNAL_DATA, "echo ours >>a/1");
	take_away("a/2");
	change("a/3", JOURNAL_META, "chmod 640 a/3");
	take_away("e/empty");
	make("a/n", "echo ours >a/n");
	change("a/7", JOURNAL_DATA, "echo ours >>a/7");
	change("a/8", JOURNAL_DATA, "echo ours >>a/8");
	/* 1 2 3 7, what was put into e/empty, that, and at a/n theirs and ours */
	go_back(8);
	sh("cd " OLD_TREE
	   " && grep -q theirs a/1 && grep -q theirs a/2 && test -e e/empty/theirs && "
	   "test ! -s a/n -o -s a/n && ! grep -q ours a/n && test ! -e a/7 && grep -q ours a/8 && "
	   "test $(stat -c %%a a/3) = 600");
	go_back(8);
	/* what was carried, and changed there then */
	sh("echo theirs >>" OLD_TREE "/a/8");
	change("a/8", JOURNAL_DATA, "echo more >>a/8");
	go_back(9);
	sh("grep -q theirs " OLD_TREE "/a/8");
}
END_TEST

START_TEST(planned)
{
	struct way way;

	trees_make(FILL);
	make("n", "mkdir n");
	make("n/f", "printf 12345 >n/f");
	change("a/2", JOURNAL_DATA, "printf 1234567 >a/2");
	move("a/3", "a/33");
	take_away("a/4");
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	ck_assert_uint_eq(way.plan.made, 2);
	ck_assert_uint_eq(way.plan.changed, 1);
	ck_assert_uint_eq(way.plan.renamed, 1);
	ck_assert_uint_eq(way.plan.removed, 1);
	ck_assert_uint_eq(way.plan.bytes, 12);
	way_close(&way);
	sh("cd " OLD_TREE " && test ! -e n -a -e a/3 -a -e a/4 -a ! -e " OLD_STAGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("carry");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nothing);
	tcase_add_test(tcase, every_kind);
	tcase_add_test(tcase, names_in_circles);
	tcase_add_test(tcase, replaced);
	tcase_add_test(tcase, times_of_directories);
	tcase_add_test(tcase, trees_that_go_and_come);
	tcase_add_test(tcase, conflicts);
	tcase_add_test(tcase, planned);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
