/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/plan.h"

#include <sys/inotify.h>

#include "ctl/rollback/find_old.h"
#include "tests/ctl/rollback/trees.h"

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

START_TEST(a_directory_renamed_in_a_gap)
{
	trees_make(FILL);
	sh("cd " NEW_TREE " && mv a z");
	note_seen("z");
	root_seen();
	go_back_whole();
	go_back_whole();
}
END_TEST

/* It has been brought here as any other. */
START_TEST(lost_found_renamed)
{
	trees_make("mkdir lost+found && echo x >lost+found/f && find . -exec touch -hd 2001-02-03 "
		   "{} +");
	sh("cd " NEW_TREE " && mv lost+found z");
	note_seen("z");
	root_seen();
	go_back_whole();
}
END_TEST

/* A run before was about to remove what the old server has alone. */
START_TEST(touched_there_alone)
{
	struct ledger_entry object = {.touching = true};
	struct migrate_binding handle = {.len = sizeof(object.fileid)};
	struct ledger *ledger;
	struct stat st;

	trees_make(FILL);
	sh("cd " NEW_TREE " && mv a z");
	note_seen("z");
	root_seen();
	ck_assert_int_eq(stat(OLD_TREE "/a", &st), 0);
	object.fileid = st.st_ino;
	memcpy(handle.bytes, &object.fileid, sizeof(object.fileid));
	ledger = ledger_open("/mnt/carried", switched, true, NULL);
	ck_assert(ledger_put(ledger, &handle, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_close(ledger);
	go_back_whole();
}
END_TEST

/* With two links of one file in two of them, of which a row tells. */
START_TEST(links_in_directories_renamed_in_a_gap)
{
	trees_make("mkdir -p a/b e && echo x >a/x && ln a/x a/b/y && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	sh("cd " NEW_TREE " && mv a z && mv z/b e/c && echo more >>z/x");
	note_seen("z");
	note_seen("e");
	note_seen("e/c");
	note_seen("z/x");
	root_seen();
	go_back_whole();
}
END_TEST

/* A run was killed when it had begun to do something to it. */
static void touching(const char *path)
{
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	const struct migrate_binding handle = handle_of(path);
	struct ledger_entry object;

	ck_assert(ledger_get(ledger, &handle, &object));
	object.touching = true;
	object.ctime = 0; /* it was begun */
	object.version = 1;
	ck_assert(ledger_put(ledger, &handle, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_clear(&object);
	ledger_close(ledger);
}

/* The directory is found by its number alone, later than the file. */
START_TEST(a_link_in_a_gap_in_what_was_moved)
{
	trees_make("mkdir -p a/b e && echo x >a/x && find . -exec touch -hd 2001-02-03 {} +");
	change("a", JOURNAL_META, "chmod 700 a");
	change("e", JOURNAL_META, "chmod 700 e");
	change("a/b", JOURNAL_META, "chmod 700 a/b");
	go_back(0);
	touching("a");
	touching("e");
	touching("a/b");
	sh("cd " OLD_TREE " && mv a/b e/b");
	sh("cd " NEW_TREE " && ln a/x a/b/y && mv a/b e/b");
	note_seen("a");
	note_seen("e");
	note_seen("e/b");
	note_seen("a/x");
	go_back_whole();
}
END_TEST

/* Meanwhile somebody wrote to one of them there. */
START_TEST(changed_while_touched)
{
	trees_make(FILL);
	change("a/2", JOURNAL_META, "chmod 600 a/2");
	change("a/3", JOURNAL_META, "chmod 600 a/3");
	go_back(0);
	touching("a/2");
	touching("a/3");
	sh("cd " OLD_TREE "/a && echo theirs >>2 && chmod 640 3");
	change("a/2", JOURNAL_DATA, "echo ours >a/2");
	change("a/3", JOURNAL_DATA, "echo ours >a/3");
	go_back(1);
	sh("cd " OLD_TREE "/a && grep -q theirs 2 && grep -q ours 3");
}
END_TEST

/* A link of which nothing tells, in a directory that is listed before. */
START_TEST(a_link_of_what_came_along)
{
	trees_make("mkdir a && echo x >a/x && ln a/x y && find . -exec touch -hd 2001-02-03 {} +");
	sh("cd " NEW_TREE " && mv a z && mkdir a");
	root_seen();
	note_seen("a");
	note_seen("z");
	go_back_whole();
}
END_TEST

START_TEST(directories_swapped_in_a_gap)
{
	trees_make(FILL);
	sh("cd " NEW_TREE " && mv a z && mv d a && mv z d");
	note_seen("a");
	note_seen("d");
	root_seen();
	go_back_whole();
}
END_TEST

/* Of a file that no client has seen, nobody has changed anything. */
START_TEST(a_dummy)
{
	struct migrate_record rec = {.state = MIGRATE_DUMMY};
	int fd;

	trees_make(FILL);
	sh(": >" NEW_TREE "/a/8");
	fd = open(NEW_TREE "/a/8", O_RDWR);
	ck_assert_int_eq(migrate_binding_get(fd, "", &rec.binding), 0);
	ck_assert_int_eq(migrate_record_store(fd, &rec), 0);
	close(fd);
	note_seen("a/8");
	go_back(0);
	sh("grep -q old8 " OLD_TREE "/a/8");
}
END_TEST

/* Another type, another file, and links that are not the same ones. */
START_TEST(others_in_their_places_in_a_gap)
{
	trees_make(FILL);
	sh("cd " NEW_TREE "/a && rm 1 && ln -s x 1 && rm symlink && echo file >symlink && "
	   "rm 2 && mkdir 2 && touch 2/in && rm 3 && ln 4 3 && mv 5 6");
	note_seen("a");
	note_seen("a/1");
	note_seen("a/symlink");
	note_seen("a/2");
	note_seen("a/2/in");
	note_seen("a/3");
	note_seen("a/6");
	note_seen("d/link");
	go_back_whole();
}
END_TEST

/* Runs before may have come to no end, or have had nothing to do in the root. */
START_TEST(the_root)
{
	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo ours >>a/1");
	go_back(0);
	change(".", JOURNAL_META, "chmod 700 .");
	go_back_whole();
	sh("cd " OLD_TREE " && mkdir " TARGET_STAGE "; touch .");
	change("a/2", JOURNAL_DATA, "echo ours >>a/2");
	go_back_whole();
	sh("cd " OLD_TREE " && mkdir " TARGET_STAGE " && rmdir " TARGET_STAGE);
	go_back_whole();
}
END_TEST

START_TEST(planned)
{
	const bool yes = true;
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	make("n", "mkdir n");
	make("n/f", "printf 12345 >n/f");
	change("a/2", JOURNAL_DATA, "printf 1234567 >a/2");
	move("a/3", "a/33");
	take_away("a/4");
	way_begin_run(&way);
	ck_assert_uint_eq(way.plan.made, 2);
	ck_assert_uint_eq(way.plan.changed, 1);
	ck_assert_uint_eq(way.plan.renamed, 1);
	ck_assert_uint_eq(way.plan.removed, 1);
	ck_assert_uint_eq(way.plan.bytes, 12);
	way.tree->stop = &yes;
	ck_assert(!plan_make(way.tree, &way.plan, &error));
	ck_assert(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INTR));
	g_error_free(error);
	way_close(&way);
	sh("cd " OLD_TREE " && test ! -e n -a -e a/3 -a -e a/4 -a ! -e " TARGET_STAGE);
}
END_TEST

/* X takes the place of Y and leaves it: of Y no name is told. */
START_TEST(replaced_and_left)
{
	trees_make(FILL);
	move("a/1", "a/2");
	move("a/2", "e/1");
	go_back_whole();
}
END_TEST

/* A name goes, and another one is left in a directory that nobody touched. */
START_TEST(one_link_goes)
{
	trees_make(FILL);
	take_away("d/link");
	go_back_whole();
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	go_back_whole();
	make("e/1", "ln a/1 e/1");
	go_back(0);
	take_away("e/1");
	go_back_whole();
	make("e/1", "ln a/1 e/1");
	go_back(0);
	take_away("a/1");
	go_back_whole();
}
END_TEST

/* A directory whose content the old server did not list, and that was given up: none of that came,
 * so nobody removed it here, whatever the directory is called now. */
START_TEST(i10_what_was_left_there)
{
	trees_make(FILL);
	sh("rm -r " NEW_TREE "/a/* && mkdir " NEW_TREE "/.migrate && "
	   "printf 'name\t" NEW_TREE "/a\tit is not listed\n' >" NEW_TREE "/.migrate/report");
	make("a/new", "echo new >a/new");
	go_back(10); /* it is said of each */
	sh("cd " OLD_TREE "/a && test -e new -a -e 1 -a -e 2 -a -e 3");
	move("a", "elsewhere");
	make("elsewhere/newer", "echo newer >elsewhere/newer");
	take_away("elsewhere/new");
	go_back(10); /* it is said of each */
	sh("cd " OLD_TREE "/elsewhere && test -e newer -a -e 1 -a -e 2 -a -e 3 -a ! -e new");
}
END_TEST

/* What a scan found after a gap: too much, and renames as names that went and came. */
START_TEST(scanned)
{
	trees_make(FILL);
	sh("cd " NEW_TREE
	   " && mv a/3 e/3 && rm a/4 && echo new >e/new && mkdir e/d && echo x >>a/5");
	note("a", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	note("e", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	note("e/d", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	note("e/3", JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	note("e/new", JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	note("a/5", JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED);
	go_back_whole();
}
END_TEST

/* What a directory that is compared has is looked for nowhere else. */
START_TEST(no_search_for_what_has_its_name)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const int in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct way way;

	trees_make(FILL);
	const struct migrate_binding a2 = handle_of("a/2");
	sh("echo ours >>" NEW_TREE "/a/2");
	journal_store_touch(journal, &a2, JOURNAL_DATA, NULL);
	make("a/new", "echo new >a/new");
	trees_commit();
	journal_store_close(journal);
	ck_assert_int_ge(inotify_add_watch(in, NEW_TREE "/e/empty", IN_OPEN), 0);
	way_open(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	ck_assert_int_lt(read(in, events, sizeof(events)), 0);
	way_close(&way);
	close(in);
}
END_TEST

/* Two names of one file there are two files here, which the report says. */
START_TEST(parted)
{
	trees_make(FILL);
	sh("cd " NEW_TREE " && cp -a a/1 t && mv t a/1 && mkdir .migrate && "
	   "printf 'link\t" NEW_TREE "/d/link\tanother project\n' >.migrate/report");
	change("a/1", JOURNAL_DATA, "echo ours >>a/1");
	go_back(1);
	sh("! grep -rq ours " OLD_TREE);
	go_back(1);
}
END_TEST

/* It was changed there in the second of the switch, and keeps times in seconds. */
START_TEST(changed_in_the_second_of_the_switch)
{
	struct way way;

	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo ours >>a/2");
	trees_commit();
	journal_store_close(journal);
	way_begin(&way);
	const struct migrate_binding a2 = handle_of("a/2");
	struct node *node = tree_node(way.tree, &a2);
	ck_assert_int_eq(find_old(way.tree, node), 0);
	ck_assert(node->there);
	node->old.st_ctim = (struct timespec){.tv_sec = way.tree->switched / 1000000000};
	ck_assert(plan_make(way.tree, &way.plan, NULL));
	ck_assert_uint_eq(way.tree->conflicts->len, 1);
	way_close(&way);
}
END_TEST

/* Somebody renames there what clients change here: it stays, in each run, and what is in it goes
 * on. */
START_TEST(renamed_there)
{
	trees_make("mkdir -p a/b && echo x >a/x && find . -exec touch -hd 2001-02-03 {} +");
	change("a/x", JOURNAL_DATA, "echo y >a/x"); /* so that their numbers are known */
	change("a/b", JOURNAL_META, "chmod 751 a/b");
	go_back(0);
	wait_for_clocks();
	sh("cd /mnt/old/a && mv x theirs && mv b its");
	change("a/x", JOURNAL_DATA, "echo more >>a/x");
	make("a/new", "echo new >a/new");
	make("a/b/new", "echo new >a/b/new");
	for (unsigned i = 0; i < 2; i++) {
		go_back(2);
		sh("cd /mnt/old/a && test \"$(echo * */*)\" = 'its new theirs its/new' && "
		   "test \"$(cat theirs)\" = y");
	}
}
END_TEST

static void number(const char *path, uint64_t fileid)
{
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	const struct migrate_binding handle = handle_of(path);
	struct ledger_entry object;

	ck_assert(ledger_get(ledger, &handle, &object));
	object.fileid = fileid;
	object.ctime = 0; /* as a run that was killed left it */
	ck_assert(ledger_put(ledger, &handle, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_clear(&object);
	ledger_close(ledger);
}

/* What is made there may get the number of what somebody removed there. */
START_TEST(a_number_given_again)
{
	struct stat st;

	trees_make("mkdir a && echo x >a/x && find . -exec touch -hd 2001-02-03 {} +");
	change("a/x", JOURNAL_DATA, "echo y >a/x");
	go_back(0);
	sh("rm /mnt/old/a/x");
	make("a/new", "echo new >a/new");
	go_back(0);
	ck_assert_int_eq(stat("/mnt/old/a/new", &st), 0);
	number("a/x", st.st_ino);
	number("a/new", 0);
	number("a/new", st.st_ino);
	touching("a/x");
	change("a/x", JOURNAL_DATA, "echo more >>a/x");
	change("a", JOURNAL_ENTRIES, ":");
	go_back(1);
	sh("cd /mnt/old/a && test \"$(echo *)\" = new && test \"$(cat new)\" = new");
}
END_TEST

/* The only name of what is here, and was not changed since. */
START_TEST(renamed_there_alone)
{
	struct stat st;

	trees_make("mkdir a && echo x >a/x && find . -exec touch -hd 2001-02-03 {} +");
	change("a/x", JOURNAL_DATA, "echo y >a/x");
	go_back(0);
	ck_assert_int_eq(stat("/mnt/old/a/x", &st), 0);
	number("a/x", st.st_ino);
	sh("mv /mnt/old/a/x /mnt/old/a/theirs");
	make("a/new", "echo new >a/new");
	go_back(1);
	sh("grep -q y /mnt/old/a/theirs");
}
END_TEST

/* One of several names of what is here, and was not changed since: while that was carried. */
START_TEST(a_link_renamed_there)
{
	struct stat st;

	trees_make("mkdir a b && echo x >a/x && find . -exec touch -hd 2001-02-03 {} +");
	make("b/link", "ln a/x b/link");
	go_back(0);
	ck_assert_int_eq(stat("/mnt/old/b/link", &st), 0);
	number("a/x", st.st_ino);
	sh("mv /mnt/old/b/link /mnt/old/b/theirs");
	make("b/new", "echo new >b/new");
	for (unsigned i = 0; i < 2; i++) {
		go_back(1);
		sh("cd /mnt/old/b && test \"$(echo *)\" = 'new theirs'");
	}
}
END_TEST

/* What is to come into a directory that is not there any more stays where it was, and has a name.
 */
START_TEST(moved_into_what_is_gone_there)
{
	struct way way;

	trees_make("mkdir -p a/b/c d && echo x >d/x && find . -exec touch -hd 2001-02-03 {} +");
	move("d/x", "a/b/c/x");
	make("a/b/c/new", "echo new >a/b/c/new");
	sh("mv /mnt/old/a/b /mnt/old/theirs");
	way_begin_run(&way);
	way_go(&way);
	for (guint i = 0; i < way.tree->conflicts->len; i++) {
		const struct problem *problem = way.tree->conflicts->pdata[i];

		ck_assert_msg(g_str_has_prefix(problem->path, "a/b"), "%s", problem->path);
	}
	ck_assert_uint_ge(way.tree->conflicts->len, 3);
	way_end_run(&way);
	sh("cd /mnt/old && test -e d/x && test ! -e .migrate-rollback");
}
END_TEST
int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, conflicts);
	tcase_add_test(tcase, a_directory_renamed_in_a_gap);
	tcase_add_test(tcase, lost_found_renamed);
	tcase_add_test(tcase, touched_there_alone);
	tcase_add_test(tcase, links_in_directories_renamed_in_a_gap);
	tcase_add_test(tcase, a_link_in_a_gap_in_what_was_moved);
	tcase_add_test(tcase, changed_while_touched);
	tcase_add_test(tcase, a_link_of_what_came_along);
	tcase_add_test(tcase, directories_swapped_in_a_gap);
	tcase_add_test(tcase, others_in_their_places_in_a_gap);
	tcase_add_test(tcase, a_dummy);
	tcase_add_test(tcase, renamed_there);
	tcase_add_test(tcase, a_number_given_again);
	tcase_add_test(tcase, renamed_there_alone);
	tcase_add_test(tcase, a_link_renamed_there);
	tcase_add_test(tcase, moved_into_what_is_gone_there);
	tcase_add_test(tcase, the_root);
	tcase_add_test(tcase, planned);
	tcase_add_test(tcase, replaced_and_left);
	tcase_add_test(tcase, one_link_goes);
	tcase_add_test(tcase, i10_what_was_left_there);
	tcase_add_test(tcase, scanned);
	tcase_add_test(tcase, no_search_for_what_has_its_name);
	tcase_add_test(tcase, parted);
	tcase_add_test(tcase, changed_in_the_second_of_the_switch);
	return run_tcase(tcase);
}
