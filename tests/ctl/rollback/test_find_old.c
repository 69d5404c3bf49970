/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/find_old.h"

#include "tests/ctl/rollback/trees.h"

static void carry(const struct migrate_binding *handle, const struct ledger_entry *object)
{
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);

	ck_assert(ledger_put(ledger, handle, object, NULL) && ledger_commit(ledger, NULL));
	ledger_close(ledger);
}

static uint64_t number_there(const char *path)
{
	struct stat st;

	ck_assert_msg(lstat(path, &st) == 0, "%s: %s", path, strerror(errno));
	return st.st_ino;
}

/* When it was removed here, no name of it was known. */
START_TEST(not_found_before)
{
	const struct ledger_entry nowhere = {.generation = UINT64_MAX};

	trees_make(FILL);
	const struct migrate_binding two = handle_of("a/2"), three = handle_of("a/3");
	take_away("a/2");
	take_away("a/3");
	carry(&two, &nowhere);
	carry(&three, &nowhere);
	sh("echo theirs >>" OLD_TREE "/a/3");
	go_back(1);
	sh("test ! -e " OLD_TREE "/a/2 && grep -q theirs " OLD_TREE "/a/3");
}
END_TEST

/* What is found by its name is not what another one became there. */
START_TEST(another_by_its_name)
{
	struct ledger_entry object;
	struct way way;

	trees_make(FILL);
	const struct migrate_binding two = handle_of("a/2"), three = handle_of("a/3");
	take_away("a/2");
	object = (struct ledger_entry){.fileid = number_there(OLD_TREE "/a/2")};
	carry(&three, &object);
	way_begin_run(&way);
	ck_assert(!tree_node(way.tree, &two)->there);
	ck_assert_uint_eq(tree_node(way.tree, &three)->carried.fileid, object.fileid);
	way_close(&way);
}
END_TEST

/* What is not where it was is not gone for that. */
START_TEST(known_when_it_is_not_found)
{
	struct ledger_entry object;

	trees_make(FILL);
	change("a/2", JOURNAL_META, "chmod 600 a/2");
	go_back(0);
	const struct migrate_binding two = handle_of("a/2");
	const uint64_t fileid = number_there(OLD_TREE "/a/2");
	sh("rm " NEW_TREE "/a/2 && mv " OLD_TREE "/a/2 " OLD_TREE "/e/theirs");
	journal_store_touch(journal, &two, 0, NULL);
	journal_store_gone(journal, &two);
	go_back(0);
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	ck_assert(ledger_get(ledger, &two, &object));
	ck_assert_uint_eq(object.fileid, fileid);
	ledger_clear(&object);
	ledger_close(ledger);
}
END_TEST

/* A run was killed when it had removed a/2, and another when it had noted what it made of the inode
 * after that. */
START_TEST(a_number_that_is_given_again)
{
	struct ledger_entry object, gone = {0};
	const struct ledger_entry not_yet = {0};

	trees_make(FILL);
	make("a/n", "echo n >a/n");
	go_back(0);
	const struct migrate_binding two = handle_of("a/2"), n = handle_of("a/n");
	take_away("a/2");
	make("a/m", "echo m >a/m");
	sh("rm " OLD_TREE "/a/2");
	gone.fileid = number_there(OLD_TREE "/a/n");
	struct ledger *ledger = ledger_open("/mnt/carried", switched, false, NULL);
	ck_assert(ledger_get(ledger, &n, &object));
	ledger_close(ledger);
	carry(&n, &not_yet);
	carry(&two, &gone);
	carry(&n, &object);
	ledger_clear(&object);
	go_back_whole();
}
END_TEST

/* A run was killed when it had noted what was to take the place of another file's name: that file
 * is not the new one. */
START_TEST(i7_staged_and_not_in_its_place)
{
	const struct ledger_entry object = {.staged = 12345};

	trees_make("mkdir d && echo old >d/1 && ln d/1 d/2 && echo >d/3 && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	take_away("d/2");
	make("d/2", "echo new >d/2");
	const struct migrate_binding two = handle_of("d/2");
	carry(&two, &object);
	go_back_whole();
	sh("grep -q old " OLD_TREE "/d/1");
}
END_TEST

/* The run before staged the object there, and was killed; what it made was removed there, and
 * somebody else's file has its number. */
static void staged_as(const struct migrate_binding *handle, const char *before, const char *theirs)
{
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	struct ledger_entry object = {0};
	struct stat st;

	if (before) {
		ck_assert_int_eq(stat(before, &st), 0);
		object = (struct ledger_entry){.fileid = st.st_ino,
					       .size = (uint64_t)st.st_size,
					       .mtime = migrate_ns(st.st_mtim)};
	}
	ck_assert_int_eq(stat(theirs, &st), 0);
	ledger_stage(&object, &st);
	object.staged_mtime--;
	ck_assert(ledger_put(ledger, handle, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_close(ledger);
}

START_TEST(i7_a_number_that_was_given_again)
{
	trees_make(FILL);
	sh("cd " OLD_TREE " && echo theirs >n && echo theirs >a/theirs");
	make("n", "echo ours >n");
	const struct migrate_binding n = handle_of("n"), gone = handle_of("a/2");
	take_away("a/2");
	staged_as(&n, NULL, OLD_TREE "/n");
	staged_as(&gone, OLD_TREE "/a/2", OLD_TREE "/a/theirs");
	go_back(3); /* theirs, and the one that has no place */
	sh("cd " OLD_TREE " && grep -q theirs n && grep -q theirs a/theirs && test ! -e a/2");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, not_found_before);
	tcase_add_test(tcase, another_by_its_name);
	tcase_add_test(tcase, i7_staged_and_not_in_its_place);
	tcase_add_test(tcase, i7_a_number_that_was_given_again);
	tcase_add_test(tcase, a_number_that_is_given_again);
	tcase_add_test(tcase, known_when_it_is_not_found);
	return run_tcase(tcase);
}
