/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Killed, or asked to end, after each step that changes the old server's tree, or the notes of what
 * is done: the next run brings it to its end, without a conflict and with nothing left over. */
#include "tests/ctl/rollback/each_step.h"
#include "tests/retriever/core_step.h"

static void change_all(void)
{
	trees_make("mkdir -p a/b/c d e/f g/h quiet && for i in 1 2 3 4 5 6 7; do echo old$i >a/$i; "
		   "done && "
		   "ln a/1 d/link && ln -s to a/symlink && ln -s to g/symlink && echo y >a/b/c/y "
		   "&& echo z >e/f/z && "
		   "echo q >quiet/q && echo 1 >g/h/1 && echo 2 >g/h/2 && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	make("n", "mkdir n");
	make("n/new", "echo new >n/new");
	make("n/link", "ln n/new n/link");
	make("n/symlink", "ln -s x n/symlink");
	make("n/pipe", "mkfifo n/pipe");
	change("a/1", JOURNAL_DATA, "echo linked >>a/1");
	change("a/2", JOURNAL_DATA, "echo changed >>a/2");
	change("quiet/q", JOURNAL_DATA, "echo changed >>quiet/q");
	change("a/3", JOURNAL_META, "chmod 640 a/3");
	move("a/4", "a/t");
	move("a/5", "a/4");
	move("a/t", "a/5");
	move("a/6", "n/6");
	change("n/6", JOURNAL_DATA, "echo moved >>n/6");
	make("linked", "ln a/symlink linked");
	make("linked2", "ln g/symlink linked2");
	make("g/new", "echo new >g/new");
	move("a/b", "d/b");
	move("a", "d/b/c/a");
	take_away("e/f/z");
	take_away("e/f");
	make("e/f", "echo file >e/f");
	take_away("d/b/c/a/7");
	take_away("d/link");
	/* in a gap: it is made anew */
	sh("cd " NEW_TREE " && mv g/h g/i");
	note("g", JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_SCANNED | JOURNAL_DIRECTORY);
	const struct migrate_binding moved = handle_of("g/i");
	const struct journal_place place = {handle_of("g"), "i"};
	journal_store_seen(journal, &moved, JOURNAL_ENTRIES | JOURNAL_META | JOURNAL_DIRECTORY,
			   &place, true);
}

static void move_directory(void)
{
	trees_make("mkdir -p d/e && echo 1 >d/1 && echo 2 >d/e/2 && ln -s to d/symlink && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	move("d", "z");
	make("z/new", "echo new >z/new");
}

/* What the run that was ended did not know of. */
static void change_in_directory(void)
{
	change("z/1", JOURNAL_META, "chmod 600 z/1");
	change("z/e", JOURNAL_META, "chmod 700 z/e");
	make("linked", "ln z/symlink linked");
	make("z/later", "echo later >z/later");
}

static void move_links(void)
{
	trees_make("mkdir d && echo 1 >1 && ln 1 d/1 && ln -s to symlink && ln symlink d/symlink "
		   "&& echo old >old && ln old d/old && find . -exec touch -hd "
		   "2001-02-03T04:05:06.789 {} +");
	move("1", "d/2");
	move("d/1", "3");
	move("symlink", "d/symlink2");
	move("d/symlink", "symlink3");
	take_away("old");
	take_away("d/old");
	make("old", "mkdir old");
}

static void move_link_back(void)
{
	move("d/symlink2", "symlink");
}

/* Killed as soon as the command fails. */
static void kill_until_not(const char *command)
{
	for (unsigned i = 1; system(command) == 0; i++)
		ck_assert_int_eq(go_to_step(i), SIGKILL);
}

/* It was not noted that this is gone, and its number is given again. */
static void free_number(void)
{
	tree_mount = ON_EXT4;
	trees_make("mkdir b && echo old >old && echo changed >changed && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	make("b/first", "echo first >b/first");
	ck_assert_int_eq(go_to_step(0), 0);
	take_away("b/first");
	kill_until_not("test -e " OLD_TREE "/b/first");
}

static void make_second(void)
{
	free_number();
	make("b/second", "echo second >b/second");
}

static void replace_second(void)
{
	move("old", "b/second");
}

static void change_and_move(void)
{
	free_number();
	change("changed", JOURNAL_DATA, "echo more >>changed");
	move("changed", "b/moved");
}

static void remove_one_name(void)
{
	trees_make("mkdir -p a/b/c d && ln -s x one && ln one a/b/two && echo file >three && "
		   "ln three a/b/four && find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	take_away("one");
	take_away("three");
}

static void link_the_other(void)
{
	make("d/link", "ln a/b/two d/link");
	make("d/link2", "ln a/b/four d/link2");
}

/* What stands in the place of owners, modes, ACLs and a time gives way to others, and comes back.
 */
static void change_stand_ins(void)
{
	trees_make("mkdir d && echo 1 >1 && echo 2 >2 && echo 3 >3 && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} + && "
		   "chown 5:6 1 d && chmod 4764 1 && setfacl -m u:9:rwx,m::rw 2");
	sh("cd " NEW_TREE " && chown 2147483646:2147483646 1 d && chmod 64 1 && setfacl -b 2 && "
	   "chmod 600 2 && setfacl -m u:9:- d && "
	   "touch -d 2001-02-03T04:05:06 3");
	mark("1", (struct omissions){.what = LEFT_OWNER | LEFT_MODE});
	mark("2", (struct omissions){.what = LEFT_ACL});
	mark("3", (struct omissions){.what = LEFT_TIME});
	mark("d", (struct omissions){.what = LEFT_OWNER});
	sh("{ " ATTRIBUTES_THERE "; } >/mnt/before");
	change("1", JOURNAL_META, "chown 1000:1001 1 && chmod 640 1");
	change("2", JOURNAL_META, "setfacl -m u:7:rwx,m::rwx 2");
	change("3", JOURNAL_META, "touch -d 2002-02-02 3");
	change("d", JOURNAL_META, "chown 1000:1001 d && setfacl -m u:7:rwx,d:u:7:rwx d");
}

static void give_stand_ins_back(void)
{
	change("1", JOURNAL_META, "chown 2147483646:2147483646 1 && chmod 64 1");
	change("2", JOURNAL_META, "setfacl -b 2 && chmod 600 2");
	change("3", JOURNAL_META, "touch -d 2001-02-03T04:05:06 3");
	change("d", JOURNAL_META,
	       "chown 2147483646:2147483646 d && setfacl -x u:7 d && setfacl -k d && "
	       "setfacl -m m::rx d");
}

static void as_it_was(void)
{
	/* set-id bits need not come back */
	sh("{ " ATTRIBUTES_THERE
	   "; } >/mnt/after; sed -i 's/ 4764 / 764 /' /mnt/before /mnt/after; "
	   "diff /mnt/before /mnt/after");
}

/* What had no room here, until a client gave it one of that name. */
static void set_what_was_left_out(void)
{
	tree_mount = ON_EXT4;
	trees_make("mkdir d && echo 1 >1 && echo 2 >2 && setfattr -n user.left -v was 1 2 d && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	sh("cd " NEW_TREE " && for n in 1 2 d; do setfattr -x user.left $n; done");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const paths[] = {"1", "2", "d"};
		struct omissions left = {0};

		omissions_add(&left, "user.left");
		mark(paths[i], left);
		g_autofree char *set =
			g_strdup_printf("setfattr -n user.left -v mine %s", paths[i]);
		change(paths[i], JOURNAL_META, set);
	}
	change("2", JOURNAL_DATA, "echo more >>2");
}

static void remove_what_was_left_out(void)
{
	change("1", JOURNAL_META, "setfattr -x user.left 1");
	change("2", JOURNAL_META, "setfattr -x user.left 2");
	change("d", JOURNAL_META, "setfattr -x user.left d");
}

static void none_is_mine(void)
{
	sh("cd " OLD_TREE " && ! getfattr -dn user.left 1 2 d 2>&1 | grep mine");
}

static void end_at_each_step(void (*before)(void), void (*after)(void))
{
	end_at_steps(CORE_STEP, before, after);
}

START_TEST(killed_at_each_step)
{
	end_at_each_step(change_all, change_nothing);
}
END_TEST

START_TEST(asked_to_end_at_each_step)
{
	asked = true;
	end_at_each_step(_i ? change_all : move_directory,
			 _i ? change_nothing : change_in_directory);
}
END_TEST

START_TEST(i12_killed_at_each_step_and_changed)
{
	end_at_each_step(move_directory, change_in_directory);
}
END_TEST

START_TEST(i12_killed_at_each_step_and_links)
{
	end_at_each_step(move_links, move_link_back);
}
END_TEST

START_TEST(i12_number_given_again)
{
	end_at_each_step(make_second, replace_second);
	end_at_each_step(change_and_move, change_nothing);
}
END_TEST

START_TEST(i12_one_of_two_names)
{
	end_at_each_step(remove_one_name, link_the_other);
}
END_TEST

START_TEST(i12_given_back_what_never_came)
{
	check = as_it_was;
	end_at_each_step(change_stand_ins, give_stand_ins_back);
}
END_TEST

START_TEST(i12_each_step_fails)
{
	fail_at_steps(CORE_STEP, change_all);
}
END_TEST

/* ---- somebody renames there what a killed run had to do with ----------------------------------
 */

#define MINE   "for d in a b; do for n in $d/[!t]*; do "
#define THEIRS "(cd " OLD_TREE " && ls -1id [ab]/theirs-* | sort)"

static void change_what_is_renamed(void)
{
	trees_make(
		"mkdir -p a/dir a/gone/in b/old && for i in 1 2 3 4 5 6; do echo $i >a/$i; done && "
		"ln a/6 b/link && find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	change("a/1", JOURNAL_META, "chmod 600 a/1");
	change("a/2", JOURNAL_DATA, "echo more >>a/2");
	move("a/3", "b/3");
	take_away("a/4");
	make("a/new", "echo new >a/new");
	make("b/made", "mkdir b/made");
	change("a/6", JOURNAL_DATA, "echo more >>a/6");
	move("a/dir", "b/dir");
	take_away("a/gone/in");
	take_away("a/gone");
}

/* Every name of his is there, of what he gave it to, and has a line. */
static void renamed_after(unsigned number)
{
	struct way way;

	change_what_is_renamed();
	ck_assert_int_eq(go_to_step(number), number ? SIGKILL : 0);
	shared->first = shared->steps;
	sh("cd " OLD_TREE " && " MINE
	   "test ! -e $n || mv $n $d/theirs-${n#*/} || exit; done; done && " THEIRS
	   " >/mnt/theirs");
	make("a/later", "echo later >a/later"); /* so that both are compared */
	make("b/later", "echo later >b/later");
	for (unsigned i = 0; i < 2; i++) {
		way_begin_run(&way);
		way_go(&way);
		ck_assert_uint_gt(way.tree->conflicts->len, 0);
		way_end_run(&way);
		sh(THEIRS " | diff /mnt/theirs - && cd " OLD_TREE
			  " && test -e a/later -a -e b/later");
	}
}

START_TEST(i12_renamed_there_after_a_kill)
{
	unsigned steps = 1;

	share_steps();
	for (unsigned i = 0; i <= steps; i += i ? 2 : 1) {
		pid_t pid;

		start(&pid);
		if (!pid) {
			renamed_after(i);
			exit(0);
		}
		const int status = end_of(pid);
		ck_assert_msg(status == 0, "killed after step %u of %u", i, steps);
		steps = i ? steps : shared->first;
	}
	ck_assert_uint_ge(steps, 10);
}
END_TEST

START_TEST(i12_taken_away_what_never_came)
{
	check = none_is_mine;
	end_at_steps(2, set_what_was_left_out, remove_what_was_left_out);
}
END_TEST

/* Before its first byte was written, or where none is. */
START_TEST(i12_written_there_after_a_kill)
{
	share_steps();
	trees_make(
		"echo old >1 && ln 1 2 && echo old >3 && find . -exec touch -hd 2001-02-03 {} +");
	if (_i == 2)
		change("3", JOURNAL_META, "chmod 600 3");
	else if (_i == 3)
		move("3", "4");
	else
		change("1", JOURNAL_DATA, "echo ours >>1");
	if (_i == 1)
		move("2", "5");
	ck_assert_int_eq(go_to_step(2), SIGKILL);
	wait_for_clocks();
	sh("cd " OLD_TREE " && n=%d && { test -e $n || n=4; } && grep -qx old $n && echo his >$n",
	   _i < 2 ? 1 : 3);
	if (_i > 1)
		change(_i == 2 ? "3" : "4", JOURNAL_DATA, "echo ours >>[34]");
	go_back(1);
	sh("cd " OLD_TREE " && grep -qx his [134]");
}
END_TEST

/* What stands here for a time that cannot be kept comes back. */
static void give_time_back(void)
{
	struct stat st;

	trees_make("echo 1 >1 && touch -d 2001-02-03T04:05:05.7891234 1");
	sh("touch -d 2001-02-03T04:05:10 " NEW_TREE "/1");
	ck_assert_int_eq(stat(NEW_TREE "/1", &st), 0);
	mark("1", (struct omissions){.what = LEFT_TIME, .mtime = migrate_ns(st.st_mtim)});
	change("1", JOURNAL_META, "touch -d 2002-02-02 1");
	ck_assert_int_eq(go_to_step(0), 0);
	change("1", JOURNAL_META, "touch -d 2001-02-03T04:05:10 1 && chmod 600 1");
}

static void time_came_back(void)
{
	sh("cd " OLD_TREE " && "
	   "test \"$(stat -c '%%a %%y' 1 | cut -c 1-31)\" = '600 2001-02-03 04:05:05.7891234'");
}

START_TEST(i12_time_given_back)
{
	unsigned steps = 1;

	share_steps();
	check = time_came_back;
	for (unsigned i = 0; i <= steps; i++) {
		pid_t pid;

		start(&pid);
		if (!pid) {
			end_at(i, give_time_back, change_nothing);
			exit(0);
		}
		ck_assert_msg(end_of(pid) == 0, "ended after step %u of %u", i, steps);
		steps = i ? steps : shared->first;
	}
}
END_TEST

/* A client writes when it is noted what the file is to be given, and the run is killed _i steps
 * later. */
static unsigned kill_after;

static void write_here(void)
{
	wait_for_clocks();
	sh("echo ours >>" NEW_TREE "/1");
	intrude = NULL;
	shared->steps = 0;
	shared->end_at = kill_after;
}

START_TEST(i12_written_here_before_a_kill)
{
	share_steps();
	trees_make("echo old >1 && touch -d 2001-02-03 1");
	change("1", JOURNAL_META, "chmod 600 1");
	kill_after = (unsigned)_i;
	intrude = write_here;
	go_to_step(2);
	intrude = NULL;
	note("1", JOURNAL_DATA);
	go_back_whole();
}
END_TEST

/* ---- somebody has changed there what a killed run moves ----------------------------------------
 */

static const struct {
	const char *name, *his, *ours, *later; /* ours: "": it is moved alone */
	unsigned flags;
	const char *stays; /* in b there, or in a if it was not moved */
	bool settles;	   /* a run that has nothing to do is in between */
} moves[] = {
	{"f", "echo his >f", "echo ours >>a/f", "true", JOURNAL_DATA, "grep -qx his f"},
	{"f", "setfacl -m u:7:r f", "chmod 600 a/f", "true", JOURNAL_META,
	 "getfacl -n f | grep -q user:7:"},
	{"d", "setfacl -m u:7:r d", "chmod 700 a/d", "true", JOURNAL_META,
	 "getfacl -n d | grep -q user:7:"},
	{"f", "setfacl -m u:7:r f", "", "chmod 600 b/f", JOURNAL_META,
	 "getfacl -n f | grep -q user:7:"},
	{"d", "setfacl -m u:7:r d", "", "chmod 700 b/d", JOURNAL_META,
	 "getfacl -n d | grep -q user:7:"},
	{"f", "setfacl -m u:7:r f", "", "chmod 600 b/f", JOURNAL_META,
	 "getfacl -n f | grep -q user:7:", true},
	{"d", "setfacl -m u:7:r d", "", "chmod 700 b/d", JOURNAL_META,
	 "getfacl -n d | grep -q user:7:", true},
	{"f", "echo his >f", "", "echo ours >>b/f", JOURNAL_DATA, "grep -qx his f", true},
};

static void moved_after(int which, unsigned number)
{
	g_autofree char *a = g_build_filename("a", moves[which].name, NULL);
	g_autofree char *b = g_build_filename("b", moves[which].name, NULL);
	struct way way;

	trees_make("mkdir -p a/d b && echo old >a/f && find . -exec touch -hd 2001-02-03 {} +");
	sh("cd " OLD_TREE "/a && %s", moves[which].his);
	if (*moves[which].ours)
		change(a, moves[which].flags, moves[which].ours);
	move(a, b);
	ck_assert_int_eq(go_to_step(number), number ? SIGKILL : 0);
	shared->first = shared->steps;
	if (moves[which].settles)
		go_back(0);
	change(b, moves[which].flags, moves[which].later);
	way_begin_run(&way);
	way_go(&way);
	ck_assert_uint_gt(way.tree->conflicts->len, 0);
	way_close(&way);
	sh("cd " OLD_TREE " && n=%s && { cd b && test -e $n || cd ../a; } && %s", moves[which].name,
	   moves[which].stays);
}

START_TEST(i12_changed_there_before_a_kill)
{
	unsigned steps = 1;

	share_steps();
	for (unsigned i = 0; i <= steps; i++) {
		pid_t pid;

		start(&pid);
		if (!pid) {
			moved_after(_i, i);
			exit(0);
		}
		ck_assert_msg(end_of(pid) == 0, "killed after step %u of %u", i, steps);
		steps = i ? steps : shared->first;
	}
	ck_assert_uint_ge(steps, 3);
}
END_TEST

/* ---- somebody gives rights there while it is carried -------------------------------------------
 */

/* The root has got its own, and no name has come into it yet. */
static void give_rights_to_root(void)
{
	wait_for_clocks();
	sh("setfacl -m u:7:rx " OLD_TREE);
}

START_TEST(i12_rights_given_to_the_root_meanwhile)
{
	struct way way;

	share_steps();
	trees_make(FILL);
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	make("new", "echo new >new");
	trees_commit();
	journal_store_close(journal);
	intrude = give_rights_to_root;
	shared->end_at = 4;
	way_open(&way);
	way_go(&way);
	way_close(&way);
	intrude = NULL;
	open_store();
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 751 .");
	go_back(1);
	sh("getfacl -np " OLD_TREE " | grep -q user:7:");
}
END_TEST

/* It is killed when it has seen that, and moved something. */
static void give_rights(void)
{
	wait_for_clocks();
	sh("cd " OLD_TREE " && setfacl -m u:7:rx . d f e");
	intrude = NULL;
	shared->steps = 0;
	shared->end_at = kill_after;
}

START_TEST(i12_rights_given_before_a_kill)
{
	struct way way;

	share_steps();
	trees_make("mkdir d e && echo old >d/1 && echo old >f && find . -exec touch -hd "
		   "2001-02-03 {} +");
	move("f", "d/f");
	move("e", "d/e");
	kill_after = (unsigned)_i;
	intrude = give_rights;
	ck_assert_int_eq(go_to_step(2), SIGKILL);
	intrude = NULL;
	change("d", JOURNAL_META, "chmod 700 d");
	change("d/f", JOURNAL_META, "chmod 600 d/f");
	change("d/e", JOURNAL_META, "chmod 700 d/e");
	change(".", JOURNAL_META | JOURNAL_DIRECTORY, "chmod 711 .");
	way_begin_run(&way);
	way_go(&way);
	way_end_run(&way);
	sh("cd " OLD_TREE " && test $(getfacl -n . d d/f d/e | grep -c user:7:) = 4");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, killed_at_each_step);
	tcase_add_test(tcase, i12_each_step_fails);
	tcase_add_test(tcase, i12_killed_at_each_step_and_changed);
	tcase_add_test(tcase, i12_killed_at_each_step_and_links);
	tcase_add_loop_test(tcase, asked_to_end_at_each_step, 0, 2);
	tcase_add_test(tcase, i12_number_given_again);
	tcase_add_test(tcase, i12_one_of_two_names);
	tcase_add_test(tcase, i12_given_back_what_never_came);
	tcase_add_test(tcase, i12_taken_away_what_never_came);
	tcase_add_test(tcase, i12_renamed_there_after_a_kill);
	tcase_add_loop_test(tcase, i12_written_there_after_a_kill, 0, 4);
	tcase_add_test(tcase, i12_time_given_back);
	tcase_add_loop_test(tcase, i12_written_here_before_a_kill, 1, 5);
	tcase_add_loop_test(tcase, i12_changed_there_before_a_kill, 0, G_N_ELEMENTS(moves));
	tcase_add_test(tcase, i12_rights_given_to_the_root_meanwhile);
	tcase_add_loop_test(tcase, i12_rights_given_before_a_kill, 9, 13);
	return run_tcase(tcase);
}
