/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/carry.h"

#include "tests/ctl/rollback/trees.h"

START_TEST(nothing)
{
	trees_make(FILL);
	go_back_whole();
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
	go_back_whole();
	go_back_whole();
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
	go_back_whole();
	move("a", "z");
	move("z/c/a/3", "z/3");
	go_back_whole();
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
	go_back_whole();
	take_away("a/3");
	move("a/6", "a/2/in");
	change("d/tmp", JOURNAL_DATA, "echo more >>d/tmp");
	go_back_whole();
}
END_TEST

/* Names that come and go again leave a time. */
/* A run that was killed had begun to make it: what it made is removed, and its number is free. */
START_TEST(staged_and_killed)
{
	struct ledger_entry object = {0};
	struct way way;
	struct stat st;

	trees_make(FILL);
	make("n", "echo new >n");
	trees_commit();
	journal_store_close(journal);
	const struct node node = {.handle = handle_of("n")};
	g_autofree char *name = tree_stage_name(&node, STAGE_NEW);
	sh("mkdir " OLD_TREE "/" TARGET_STAGE " && echo >" OLD_TREE "/" TARGET_STAGE "/%s", name);
	g_autofree char *path = g_build_filename(OLD_TREE, TARGET_STAGE, name, NULL);
	ck_assert_int_eq(stat(path, &st), 0);
	struct ledger *ledger = ledger_open("/mnt/carried", switched, true, NULL);
	object.staged = st.st_ino;
	ck_assert(ledger_put(ledger, &node.handle, &object, NULL) && ledger_commit(ledger, NULL));
	ledger_close(ledger);
	way_open(&way);
	stop_now = true;
	way_go(&way);
	ck_assert(ledger_get(way.ledger, &node.handle, &object));
	ck_assert_uint_eq(object.staged, 0);
	ck_assert_int_lt(stat(path, &st), 0);
	way_close(&way);
}
END_TEST

START_TEST(times_of_directories)
{
	trees_make(FILL);
	make("a/b/tmp", "echo >a/b/tmp");
	take_away("a/b/tmp");
	move("a/4", "e/4");
	move("e/4", "a/4");
	go_back_whole();
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
	go_back_whole();
}
END_TEST

/* One of its names is in a directory that goes as well, deeper than the other. */
START_TEST(links_removed_with_directories)
{
	trees_make("mkdir -p a d/b/c && echo x >a/x && ln a/x d/b/c/x && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	sh("cd " NEW_TREE " && rm -r a/x d/b");
	note("a", JOURNAL_ENTRIES | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	note("d", JOURNAL_ENTRIES | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	go_back_whole();
}
END_TEST

/* It is put aside, where what is in it is less deep than it was. */
START_TEST(a_file_in_the_place_of_a_directory)
{
	trees_make("mkdir -p a/b/c/d/e && find . -exec touch -hd 2001-02-03 {} +");
	take_away("a/b/c/d/e");
	take_away("a/b/c/d");
	make("a/b/c/d", "echo new >a/b/c/d");
	go_back_whole();
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
}
END_TEST

/* The file keeps its other name. */
START_TEST(a_directory_in_the_place_of_a_link)
{
	trees_make("mkdir d && echo x >d/1 && ln d/1 d/2 && "
		   "find . -exec touch -hd 2001-02-03 {} +");
	take_away("d/2");
	make("d/2", "mkdir d/2");
	make("d/2/3", "ln d/1 d/2/3");
	go_back_whole();
}
END_TEST

/* What somebody else gave it there since the switch is not taken away. */
START_TEST(attributes_changed_there)
{
	trees_make(FILL);
	change("a/1", JOURNAL_META, "chown 9 a/1");
	change("a/2", JOURNAL_META, "chown 9 a/2");
	change("a/3", JOURNAL_META, "touch -d 2002-02-02 a/3");
	change("a/4", JOURNAL_META, "chmod 600 a/4");
	sh("cd " OLD_TREE " && setfacl -m u:7:r a/1 && chown 8 a/2 && touch -d 2002-02-02 a/3 && "
	   "setfacl -m u:7:r a/3 && chmod 600 a/4");
	go_back(3);
	sh("cd " OLD_TREE " && getfacl -n a/1 | grep -q user:7 && test $(stat -c %%u a/1) = 0 && "
	   "test $(stat -c %%u a/2) = 8 && getfacl -n a/3 | grep -q user:7");
}
END_TEST

/* Nor what is the root's, in the first run and in a later one. */
START_TEST(attributes_of_the_root_changed_there)
{
	trees_make(FILL);
	change(".", JOURNAL_META, "chmod 711 .");
	go_back(0);
	change(".", JOURNAL_META, "chmod 751 .");
	go_back_whole();
	sh("setfacl -m u:7:x " OLD_TREE);
	change(".", JOURNAL_META, "chmod 750 .");
	go_back(1);
	go_back(1);
	sh("getfacl -np " OLD_TREE " | grep -q user:7:");
}
END_TEST

/* What never came stays, whether attributes are changed or data, which are written in place. */
START_TEST(what_never_came)
{
	struct stat before, after;

	trees_make(FILL " && setfattr -n trusted.kept -v 1 a/2 a/3 a/b && setfacl -m u:7:r a/4 d");
	sh("cd " NEW_TREE " && setfattr -x trusted.kept a/2 && setfattr -x trusted.kept a/3 && "
	   "setfattr -x trusted.kept a/b && setfacl -b a/4 && setfacl -b d && "
	   "setfattr -n " XATTR_TOLD " -v 0x80 .");
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &before), 0);
	change("a/2", JOURNAL_META, "chown 9 a/2");
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	change("a/4", JOURNAL_DATA, "echo more >>a/4");
	change("a/b", JOURNAL_META, "chown 9 a/b");
	change("d", JOURNAL_META, "chown 9 d");
	change("a/5", JOURNAL_META, "setfacl -m u:7:r a/5");
	go_back(0);
	ck_assert_int_eq(stat(OLD_TREE "/a/3", &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	sh("cd " OLD_TREE " && getfattr -n trusted.kept a/2 a/3 a/b >/mnt/out && "
	   "for n in a/4 a/5 d; do getfacl -n $n | grep -q user:7 || exit; done && "
	   "test $(stat -c %%u%%u%%u a/2 a/b d | tr -d '\n') = 999999999 && "
	   "cmp a/3 " NEW_TREE "/a/3 && cmp a/4 " NEW_TREE "/a/4");
	/* what came from here is known, and goes */
	change("a/5", JOURNAL_META, "setfacl -b a/5");
	change("d", JOURNAL_META, "chown 8 d");
	go_back(0);
	sh("cd " OLD_TREE " && ! getfacl -n a/5 | grep -q user:7 && getfacl -n d | grep -q user:7");
}
END_TEST

/* Whom somebody takes out of an ACL there, he stays out of it, though another one stands for it
 * here; and what a client gives and takes is not what was there, whatever names come and go. */
START_TEST(rights_taken_there)
{
	trees_make("mkdir d && touch 1 && setfacl -m u:9:rwx,u:10:rwx d 1 && "
		   "touch -d 2001-02-03T04:05:06.789 d 1");
	sh("cd " NEW_TREE " && setfacl -b d 1 && chmod 700 d 1");
	mark("d", (struct omissions){.what = LEFT_ACL});
	mark("1", (struct omissions){.what = LEFT_ACL});
	make("d/new", "echo new >d/new");
	move("1", "2");
	go_back(0);
	sh("cd " OLD_TREE " && setfacl -x u:9 d 2");
	make("d/more", "echo more >d/more");
	move("2", "3");
	go_back(0);
	change("d", JOURNAL_META, "chown 7 d");
	change("3", JOURNAL_META, "chown 7 3");
	go_back(0);
	sh("cd " OLD_TREE " && getfacl -ns d 3 | grep -c user:10:rwx | grep -qx 2 && "
	   "test -z \"$(getfacl -ns d 3 | grep user:9)\"");
	change("d", JOURNAL_META, "setfacl -m u:8:rwx d");
	go_back(0);
	sh("getfacl -ns " OLD_TREE "/d | grep -q user:8:rwx");
	make("d/last", "echo last >d/last");
	go_back(0);
	change("d", JOURNAL_META, "setfacl -b d && chmod 700 d && chown 0 d");
	go_back(0);
	sh("cd " OLD_TREE " && getfacl -ns d | grep -q user:10:rwx && "
	   "! getfacl -ns d | grep -q user:8");
}
END_TEST

/* Between the plan and what is done. */
static void meanwhile(const char *theirs, unsigned conflicts)
{
	struct way way;

	way_begin_run(&way);
	sh("cd " OLD_TREE " && %s", theirs);
	way_go(&way);
	if (way.tree->conflicts->len != conflicts)
		show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, conflicts);
	way_end_run(&way);
}

/* ACLs that do not show in a mode, of what is moved, linked, or a directory; and what he removes.
 */
START_TEST(changed_since_the_plan)
{
	trees_make(FILL);
	move("a/2", "d/2");
	change("d/2", JOURNAL_META, "chmod 600 d/2");
	move("a/3", "d/3");
	change("d/3", JOURNAL_DATA, "echo more >>d/3");
	make("d/4", "ln a/4 d/4");
	change("a/4", JOURNAL_META, "chmod 600 a/4");
	change("e", JOURNAL_META, "chmod 711 e");
	make("e/new", "echo new >e/new");
	change("a/5", JOURNAL_DATA, "echo more >>a/5");
	move("a/6", "d/6");
	meanwhile("setfacl -m u:7:r a/2 a/3 a/4 && setfacl -m u:7:rx e && rm a/5 && "
		  "echo his >his && mv his a/6",
		  6);
	sh("cd " OLD_TREE " && getfacl -np d/2 d/3 a/4 e | grep -c user:7: | grep -qx 4 && "
	   "test ! -e a/5 && test -e e/new && test -e d/4 && grep -q his a/6");
	go_back(7); /* and his a/6 */
	sh("cd " OLD_TREE " && getfacl -np d/2 d/3 a/4 e | grep -c user:7: | grep -qx 4");
}
END_TEST

/* What is renamed here stays where it is there. */
START_TEST(name_taken_meanwhile)
{
	trees_make(FILL);
	move("a/2", "d/2");
	move("a/b", "e/b");
	meanwhile("echo his >d/2 && mkdir e/b && echo his >e/b/his", 2);
	sh("cd " OLD_TREE " && grep -q old2 a/2 && test -e a/b/c/y && grep -q his d/2 && "
	   "grep -q his e/b/his && test ! -e " TARGET_STAGE);
	go_back(4); /* and his */
	sh("cd " OLD_TREE " && grep -q old2 a/2 && test -e a/b/c/y && rm -r d/2 e/b");
	go_back_whole();
}
END_TEST

/* Nobody has changed the file: what clients write is carried when its directory is there again, or
 * it is back in the former one. */
START_TEST(directory_removed_there)
{
	trees_make("mkdir a b && echo old >a/f && find . -exec touch -hd 2001-02-03 {} +");
	sh("rmdir " OLD_TREE "/b");
	move("a/f", "b/f");
	change("b/f", JOURNAL_DATA, "echo x >>b/f");
	go_back(2); /* and of b itself */
	change("b/f", JOURNAL_DATA, "echo y >>b/f");
	go_back(2);
	if (_i)
		sh("mkdir -m 755 " OLD_TREE "/b");
	else
		move("b/f", "a/f");
	go_back(!_i); /* b itself, or none */
	sh("cmp " NEW_TREE "/%s " OLD_TREE "/%s", _i ? "b/f" : "a/f", _i ? "b/f" : "a/f");
}
END_TEST

/* Nor that one, in whose way something comes while it is carried. */
START_TEST(changed_and_name_taken_meanwhile)
{
	trees_make(FILL);
	move("a/2", "d/2");
	change("d/2", JOURNAL_META, "chmod 600 d/2");
	move("a/1", "d/1"); /* has two names */
	change("d/1", JOURNAL_DATA, "echo more >>d/1");
	meanwhile("echo his >d/2 && echo his >d/1", 2);
	change("d/2", JOURNAL_META, "chmod 640 d/2");
	change("d/1", JOURNAL_DATA, "echo more >>d/1");
	sh("rm " OLD_TREE "/d/[12]");
	go_back_whole();
}
END_TEST

/* His files get the numbers of what he has removed. */
START_TEST(number_given_again)
{
	tree_mount = ON_EXT4;
	trees_make(FILL);
	change("a/6", JOURNAL_META, "chmod 600 a/6");
	move("a/7", "d/7");
	meanwhile("for n in 6 7; do rm a/$n && echo his$n >e/$n; done", 2);
	make("e/new", "echo new >e/new");
	go_back(2);
	sh("cd " OLD_TREE " && grep -q his6 e/6 && grep -q his7 e/7 && test ! -e d/7 -a ! -e a/6");
}
END_TEST

/* Names that come and go move ctimes, those of directories as well: what is given here later is a
 * conflict all the same.  Most of these rights do not show in a mode. */
#define RIGHTS_THERE "setfacl -m u:7:r a/2 a/4 && setfacl -m u:7:rx a/b d e && chmod 604 a/3"

static void move_without_attributes(void)
{
	trees_make(FILL);
	wait_for_clocks();
	make("d/new", "echo new >d/new");
	move("a/2", "d/2");
	move("a/3", "d/3");
	make("d/4", "ln a/4 d/4");
	move("a/b", "d/b");
	take_away("e/empty");
}

static void are_kept(void)
{
	wait_for_clocks();
	change("d", JOURNAL_META, "chmod 711 d");
	change("d/2", JOURNAL_META, "chmod 600 d/2");
	change("d/3", JOURNAL_META, "chmod 600 d/3");
	change("d/4", JOURNAL_META, "chmod 600 d/4");
	change("d/b", JOURNAL_META, "chmod 711 d/b");
	change("e", JOURNAL_META, "chmod 711 e");
	go_back(6);
	sh("cd " OLD_TREE " && getfacl -np d d/2 d/4 d/b e | grep -c user:7: | grep -qx 5 && "
	   "test $(stat -c %%a d/3) = 604");
}

START_TEST(rights_given_meanwhile)
{
	move_without_attributes();
	meanwhile(RIGHTS_THERE, 0);
	are_kept();
}
END_TEST

START_TEST(rights_given_before)
{
	move_without_attributes();
	sh("cd " OLD_TREE " && " RIGHTS_THERE);
	go_back(0);
	are_kept();
}
END_TEST

/* What a later run has nothing to do with stays so: it has the name that it had. */
START_TEST(rights_given_before_a_run_with_nothing_to_do)
{
	move_without_attributes();
	sh("cd " OLD_TREE " && " RIGHTS_THERE);
	go_back(0);
	static const char *const paths[] = {"d/2", "d/3", "d/4", "d/b"};
	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
		move(paths[i], "d/away");
		move("d/away", paths[i]);
	}
	go_back(0);
	are_kept();
}
END_TEST

/* Of a file that loses one of its names before it is given what it has here. */
START_TEST(rights_given_before_a_name_goes)
{
	trees_make(FILL);
	take_away("d/link");
	change("a/1", JOURNAL_META, "chmod 600 a/1");
	meanwhile("setfacl -m u:7:r a/1", 1);
	sh("cd " OLD_TREE " && getfacl -np a/1 | grep -q user:7: && test ! -e d/link");
	go_back(1);
	sh("getfacl -np " OLD_TREE "/a/1 | grep -q user:7:");
}
END_TEST

/* A journal's store is lost twice: each begins with the same moment, and counts from one. */
START_TEST(another_store_of_the_same_moment)
{
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo two >>a/2");
	all_seen();
	go_back(0);
	journal_store_close(journal);
	sh("rm -r /mnt/journal");
	wait_for_clocks();
	sh("echo three >>" NEW_TREE "/a/2; echo three >>" NEW_TREE "/a/3");
	open_store();
	journal_store_state(journal)->since = switched;
	all_seen();
	go_back(1); /* nobody knows any more that the second line was carried */
	sh("cd " OLD_TREE " && grep -q three a/3 && ! grep -q three a/2");
}
END_TEST

/* What a run noted and did not begin is looked at as ever in the next one: of what somebody has
 * open, and of what clients removed. */
START_TEST(left_and_changed_there)
{
	struct way way;

	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo ours >>a/1"); /* has two names */
	way_begin_run(&way);
	int fd = open(OLD_TREE "/a/1", O_RDWR | O_CLOEXEC);
	way_go(&way);
	ck_assert_uint_eq(way.tree->conflicts->len, 1);
	way_end_run(&way);
	ck_assert_int_eq(write(fd, "theirs, which is longer\n", 24), 24);
	close(fd);
	go_back(1);
	sh("grep -q theirs " OLD_TREE "/a/1");
}
END_TEST

START_TEST(removed_since_the_plan)
{
	struct way way;

	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo ours >>a/1");
	const struct migrate_binding handle = handle_of("a/1");
	const struct journal_place places[] = {{handle_of("a"), (char *)"1"},
					       {handle_of("d"), (char *)"link"}};
	way_begin_run(&way);
	sh("rm " NEW_TREE "/a/1 " NEW_TREE "/d/link");
	way_go(&way);
	way_end_run(&way);
	for (unsigned i = 0; i < G_N_ELEMENTS(places); i++)
		journal_store_removed(journal, &handle, false, &places[i]);
	journal_store_gone(journal, &handle);
	wait_for_clocks();
	sh("echo theirs >" OLD_TREE "/a/1");
	go_back(1);
	sh("grep -q theirs " OLD_TREE "/a/1");
}
END_TEST

/* All that a run did not come to: data, which are written in place, attributes, moves, removals,
 * and directories. */
START_TEST(ended_and_changed_there)
{
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo ours >>a/1");
	change("a/4", JOURNAL_META, "chmod 600 a/4");
	change("a/5", JOURNAL_META, "chmod 600 a/5");
	change("e", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 e");
	make("e/new", "echo new >e/new");
	take_away("a/2");
	move("a/3", "d/3");
	way_begin_run(&way);
	sh("mount -o remount,ro " OLD_TREE);
	ck_assert(!rollback_windows(way.tree, &way.plan, &stop_now, &way.done, &error));
	g_clear_error(&error);
	sh("mount -o remount,rw " OLD_TREE);
	way_end_run(&way);
	wait_for_clocks();
	sh("cd " OLD_TREE " && echo theirs >a/1 && echo his4 >a/4 && setfacl -m u:7:r a/2 a/3 && "
	   "setfacl -m u:7:rx e");
	change("a/4", JOURNAL_DATA, "echo ours >>a/4");
	go_back(4);
	sh("cd " OLD_TREE " && grep -q theirs a/1 && grep -q his4 a/4 && test -e e/new && "
	   "getfacl -n a/2 [ad]/3 e | grep -c user:7: | grep -qx 3 && "
	   "test $(stat -c %%a a/5) = 600");
}
END_TEST

/* Something of somebody's stays in TARGET_STAGE. */
START_TEST(root_changed_there_beside_what_stays)
{
	trees_make(FILL);
	change("a/2", JOURNAL_DATA, "echo more >>a/2");
	go_back(0);
	sh("mkdir " OLD_TREE "/" TARGET_STAGE " && echo his >" OLD_TREE "/" TARGET_STAGE "/his");
	change("a/3", JOURNAL_DATA, "echo more >>a/3");
	go_back(1);
	wait_for_clocks();
	sh("setfacl -m u:7:rx " OLD_TREE);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	go_back(2);
	sh("getfacl -np " OLD_TREE " | grep -q user:7:");
}
END_TEST

/* Once both are the same, it is as any other. */
START_TEST(root_made_the_same)
{
	trees_make(FILL);
	sh("echo his >" OLD_TREE "/his");
	go_back(0);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	go_back(1);
	go_back(1);
	sh("chmod 711 " OLD_TREE);
	go_back(0);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 751 .");
	go_back(0);
	sh("test $(stat -c %%a " OLD_TREE ") = 751");
	wait_for_clocks();
	sh("setfacl -m u:7:rx " OLD_TREE);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	go_back(1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nothing);
	tcase_add_test(tcase, every_kind);
	tcase_add_test(tcase, names_in_circles);
	tcase_add_test(tcase, replaced);
	tcase_add_test(tcase, staged_and_killed);
	tcase_add_test(tcase, times_of_directories);
	tcase_add_test(tcase, trees_that_go_and_come);
	tcase_add_test(tcase, a_directory_in_the_place_of_a_link);
	tcase_add_test(tcase, links_removed_with_directories);
	tcase_add_test(tcase, a_file_in_the_place_of_a_directory);
	tcase_add_test(tcase, attributes_changed_there);
	tcase_add_test(tcase, attributes_of_the_root_changed_there);
	tcase_add_test(tcase, what_never_came);
	tcase_add_test(tcase, rights_taken_there);
	tcase_add_test(tcase, changed_since_the_plan);
	tcase_add_test(tcase, name_taken_meanwhile);
	tcase_add_test(tcase, number_given_again);
	tcase_add_test(tcase, rights_given_meanwhile);
	tcase_add_test(tcase, rights_given_before);
	tcase_add_test(tcase, rights_given_before_a_run_with_nothing_to_do);
	tcase_add_test(tcase, rights_given_before_a_name_goes);
	tcase_add_loop_test(tcase, directory_removed_there, 0, 2);
	tcase_add_test(tcase, changed_and_name_taken_meanwhile);
	tcase_add_test(tcase, another_store_of_the_same_moment);
	tcase_add_test(tcase, left_and_changed_there);
	tcase_add_test(tcase, removed_since_the_plan);
	tcase_add_test(tcase, ended_and_changed_there);
	tcase_add_test(tcase, root_changed_there_beside_what_stays);
	tcase_add_test(tcase, root_made_the_same);
	return run_tcase(tcase);
}
