/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/name_search.h"

#include "common/migrate.h"
#include "tests/ctl/rollback/trees.h"

#define LINKS NEW_TREE "/" MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR

/* A run while clients go on: what is in OLD_TREE stays. */
static void follow(const char *there)
{
	struct way way;

	trees_commit();
	journal_store_close(journal);
	serving = true;
	way_open(&way);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_uint_gt(way.done.left, 0);
	way_close(&way);
	serving = false;
	open_store();
	sh("cd " OLD_TREE " && %s", there);
}

/* As a file is that had a name in d and one in e, neither of which is filled: of the one clients
 * asked for, and removed it. */
START_TEST(written_to_without_a_name)
{
	struct stat st;

	trees_make("mkdir d e e/f && echo x >d/x && ln d/x e/f/y && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/d/x", &st), 0);
	sh("mkdir -p " LINKS " && rm -r " NEW_TREE "/e/f && mv " NEW_TREE "/d/x " LINKS
	   "/%016lx && echo more >>" LINKS "/%016lx",
	   (unsigned long)st.st_ino, (unsigned long)st.st_ino);
	g_autofree char *link = g_strdup_printf(MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR "/%016lx",
						(unsigned long)st.st_ino);
	const struct migrate_binding x = handle_of(link);
	const struct journal_place was = {handle_of("d"), "x"};
	journal_store_removed(journal, &x, false, &was);
	journal_store_touch(journal, &x, JOURNAL_DATA | JOURNAL_META, NULL);
	follow("test -e d/x -a -e e/f/y"); /* the retriever knows them by their number of names */
	go_back(0);
	sh("cd " OLD_TREE " && test ! -e d/x && grep -q more e/f/y && "
	   "test $(stat -c %%i e/f/y) = %lu",
	   (unsigned long)st.st_ino);
	/* once more, when no name of it is known */
	sh("echo third >>" NEW_TREE "/%s", link);
	journal_store_touch(journal, &x, JOURNAL_DATA, NULL);
	go_back(0);
	sh("grep -q third " OLD_TREE "/e/f/y && test $(stat -c %%Y " OLD_TREE "/e/f) = "
	   "$(date -d 2001-02-03 +%%s)");
}
END_TEST

/* No other name of it is there, so that nothing waits for one. */
START_TEST(removed_with_all_its_names)
{
	struct stat st;

	trees_make("mkdir d && echo x >d/x && find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/d/x", &st), 0);
	sh("mkdir -p " LINKS " && mv " NEW_TREE "/d/x " LINKS "/%016lx", (unsigned long)st.st_ino);
	g_autofree char *link = g_strdup_printf(MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR "/%016lx",
						(unsigned long)st.st_ino);
	const struct migrate_binding x = handle_of(link);
	const struct journal_place was = {handle_of("d"), "x"};
	journal_store_removed(journal, &x, false, &was);
	serving = true;
	go_back(0);
	sh("test ! -e " OLD_TREE "/d/x");
}
END_TEST

/* When the one name was removed there, the other was made here as of a file with one name. */
START_TEST(made_anew_here)
{
	struct ledger_entry object = {0};
	struct stat st;

	trees_make("mkdir d && echo x >d/y && find . -exec touch -hd 2001-02-03 {} +");
	ck_assert_int_eq(stat(OLD_TREE "/d/y", &st), 0);
	sh("mkdir -p " LINKS " && cp -a " NEW_TREE "/d/y " LINKS "/%016lx",
	   (unsigned long)st.st_ino);
	g_autofree char *link = g_strdup_printf(MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR "/%016lx",
						(unsigned long)st.st_ino);
	const struct migrate_binding x = handle_of(link), d = handle_of("d");
	object.fileid = st.st_ino;
	object.touching = true;
	ledger_add_name(&object, &d, "y");
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	ck_assert(ledger_put(ledger, &x, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_close(ledger);
	ledger_clear(&object);
	journal_store_touch(journal, &x, JOURNAL_DATA | JOURNAL_META, NULL);
	note("d", JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
	note("d/y", JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	go_back(0);
	sh("grep -q x " OLD_TREE "/d/y");
	journal_store_touch(journal, &x, JOURNAL_DATA | JOURNAL_META, NULL);
	note("d", JOURNAL_ENTRIES | JOURNAL_DIRECTORY);
	go_back(0);
	sh("grep -q x " OLD_TREE "/d/y");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, written_to_without_a_name);
	tcase_add_test(tcase, removed_with_all_its_names);
	tcase_add_test(tcase, made_anew_here);
	return run_tcase(tcase);
}
