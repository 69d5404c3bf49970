/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/difference.h"

#include "lib/report/fill_notes.h"
#include "tests/ctl/rollback/trees.h"

/* Inodes and ctimes of what is below the old tree's root. */
#define LIST_OLD "cd " OLD_TREE " && find . -mindepth 1 -printf '%%p %%i %%C@\\n' | sort"

static void note_old(void)
{
	sh(LIST_OLD " >/mnt/before");
}

/* paths: of what was touched since, as they sort. */
static void same_old_but(const char *paths)
{
	sh(LIST_OLD " >/mnt/after; cd /mnt; comm -3 before after | awk '{ print $1 }' | uniq | "
		    "xargs >touched; test \"$(cat touched)\" = '%s' || { cat touched >&2; false; }",
	   paths);
}

/* How many were found by the scan, and are the same. */
static void plan_is(unsigned found, unsigned same, unsigned todo)
{
	struct way way;

	trees_commit();
	journal_store_close(journal);
	way_begin(&way);
	way.tree->planned = tree_problems_new();
	ck_assert(plan_make(way.tree, &way.plan, NULL));
	show(way.tree->planned);
	ck_assert_uint_eq(way.plan.found, found);
	ck_assert_uint_eq(way.plan.same, same);
	ck_assert_uint_eq(way.tree->planned->len, todo);
	way_end_run(&way);
}

START_TEST(nothing_was_changed)
{
	trees_make(FILL);
	all_seen();
	note_old();
	plan_is(19, 19, 0);
	go_back(0);
	same_old_but("");
	same_trees();
	/* they need no other look */
	plan_is(0, 0, 0);
}
END_TEST

/* Sizes and times say nothing. */
START_TEST(what_was_changed_and_looks_the_same)
{
	trees_make(FILL);
	sh("cd " NEW_TREE " && echo OLD3 >a/3 && touch -r a/2 a/3 && ln -sfn 2 a/symlink && "
	   "touch -hr a/2 a/symlink && touch -r a/2 a");
	sh("cd " NEW_TREE " && chmod 640 a/4 && setfacl -m u:77:r a/5 && chmod 711 e/empty");
	all_seen();
	note_old();
	plan_is(19, 14, 6);
	go_back(0);
	same_old_but("./a ./a/3 ./a/4 ./a/5 ./a/symlink ./e/empty");
	same_trees();
}
END_TEST

START_TEST(content_that_is_longer_or_shorter)
{
	trees_make(FILL);
	sh("cd " NEW_TREE " && echo more >>a/3 && : >a/4 && truncate -s 3M a/5");
	all_seen();
	note_old();
	go_back(0);
	same_old_but("./a ./a/3 ./a/4 ./a/5");
	same_trees();
}
END_TEST

/* What the retriever noted need not be read, as long as nobody has changed it. */
START_TEST(noted_when_it_became_whole)
{
	struct stat here, there;
	int private, fd;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/.migrate");
	private = open(NEW_TREE "/.migrate", O_RDONLY);
	ck_assert_int_eq(migrate_private_mark(private), 0);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &there), 0);
	fd = open(NEW_TREE "/a/3", O_RDONLY);
	ck_assert(fd >= 0 && !fstat(fd, &here));
	fill_notes_add(private, fd, there.st_ino, migrate_ns(here.st_mtim));
	close(fd);
	close(private);
	/* which would show */
	sh("cd " OLD_TREE " && echo OLD3 >a/3 && touch -r a/2 a/3");
	all_seen();
	note_old();
	go_back(0);
	same_old_but("");
	sh("cd " NEW_TREE " && touch -r a/2 a/3"); /* another ctime */
	note_seen("a/3");
	plan_is(1, 0, 0);
	go_back(1);
	same_old_but("");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nothing_was_changed);
	tcase_add_test(tcase, what_was_changed_and_looks_the_same);
	tcase_add_test(tcase, content_that_is_longer_or_shorter);
	tcase_add_test(tcase, noted_when_it_became_whole);
	return run_tcase(tcase);
}
