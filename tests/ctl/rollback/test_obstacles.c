/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/obstacles.h"

#include "tests/ctl/rollback/trees.h"

/* Each takes the other's place, files and directories. */
START_TEST(exchanged)
{
	trees_make(FILL);
	move("a/1", "a/9");
	move("a/2", "a/1");
	move("a/9", "a/2");
	move("a/b", "a/9");
	move("d", "a/b");
	move("a/9", "d");
	go_back_whole();
}
END_TEST

/* What somebody made there stays, and so does what was to come to its place, and that one's place
 * is not given to others. */
START_TEST(taken)
{
	trees_make(FILL);
	sh("echo theirs >" OLD_TREE "/e/1");
	move("a/1", "e/1");
	move("a/2", "a/1");
	go_back(3);
	sh("cd " OLD_TREE " && grep -q theirs e/1 && grep -q old1 a/1 && grep -q old2 a/2");
	sh("rm " OLD_TREE "/e/1");
	go_back_whole();
}
END_TEST

/* What has the name there has another one as well, and its turn comes later. */
START_TEST(over_a_link)
{
	trees_make("mkdir -p a/b d && echo x >a/b/x && ln a/b/x d/link && echo y >y && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	const struct migrate_binding y = handle_of("y");
	sh("cd " NEW_TREE " && mv y d/link");
	journal_store_moved(journal, &y, false, &(struct journal_place){handle_of("."), "y"},
			    &(struct journal_place){handle_of("d"), "link"});
	note("a/b/x", JOURNAL_META);
	go_back_whole();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, exchanged);
	tcase_add_test(tcase, taken);
	tcase_add_test(tcase, over_a_link);
	return run_tcase(tcase);
}
