/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     test_rows                      what every test run does
 *     test_rows COUNT                so many objects of each kind, and what memory a run takes
 */
#include "ctl/rollback/rows.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "ctl/rollback/target_ops.h"
#include "tests/ctl/rollback/trees.h"

/* How many objects are to be dealt with; the root always is. */
static unsigned loaded(void)
{
	struct way way;

	way_begin_run(&way);
	const unsigned nodes = way.tree->active->len;
	way_end_run(&way);
	return nodes;
}

/* A row counts until what it tells was carried, and again when it tells more. */
START_TEST(counts_once)
{
	trees_make(FILL);
	ck_assert_uint_eq(loaded(), 1);
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	change("a/2", JOURNAL_META, "chmod 600 a/2");
	ck_assert_uint_eq(loaded(), 3);
	go_back(0);
	ck_assert_uint_eq(loaded(), 1);
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	ck_assert_uint_eq(loaded(), 2);
	go_back_whole();
}
END_TEST

/* ---- windows --------------------------------------------------------------------------------- */

/* Of each kind that waits for windows, and of what they stand beside. */
static void change_much(void)
{
	make("n", "mkdir n");
	make("n/m", "mkdir n/m");
	for (unsigned i = 0; i < 4; i++) {
		g_autofree char *in_made = g_strdup_printf("n/m/%u", i);
		g_autofree char *in_old = g_strdup_printf("d/new%u", i);
		g_autofree char *command = g_strdup_printf("echo new >n/m/%u", i);
		g_autofree char *other = g_strdup_printf("ln -s x d/new%u", i);

		make(in_made, command);
		make(in_old, other);
	}
	make("a/6.tmp", "echo edited >a/6.tmp");
	move("a/6.tmp", "a/6");
	take_away("a/5");
	make("a/5", "echo again >a/5");
	move("a/4", "a/5.old");
	make("a/4", "echo another >a/4");
	change("a/2", JOURNAL_DATA, "echo more >>a/2");
	change("a/3", JOURNAL_META, "chmod 600 a/3");
	change("a/b/x", JOURNAL_DATA | JOURNAL_META, "echo more >>a/b/x; chmod 600 a/b/x");
	change("a/b/c/y", JOURNAL_META, "chown 5 a/b/c/y");
	move("a/b", "e/b");
}

static void plan_all(struct plan *plan)
{
	GError *error = NULL;
	struct way way;

	way_open(&way);
	way.tree->planned = tree_problems_new();
	ck_assert(rollback_windows(way.tree, &way.plan, NULL, NULL, &error));
	ck_assert_uint_eq(way.tree->conflicts->len, 0);
	*plan = way.plan;
	way_close(&way);
}

START_TEST(windows)
{
	struct plan whole, parts;

	trees_make(FILL);
	change_much();
	trees_commit();
	journal_store_close(journal);
	plan_all(&whole);
	rows_at_once = 1 + (guint)_i;
	plan_all(&parts);
	open_store();
	ck_assert_uint_eq(parts.made, whole.made);
	ck_assert_uint_eq(parts.changed, whole.changed);
	ck_assert_uint_eq(parts.renamed, whole.renamed);
	ck_assert_uint_eq(parts.removed, whole.removed);
	ck_assert_uint_eq(parts.bytes, whole.bytes);
	go_back_whole();
	/* what was made and carried changes, in windows as well; and directories count as done */
	change("n/m/0", JOURNAL_DATA, "echo more >>n/m/0");
	change("n/m/1", JOURNAL_META, "chmod 600 n/m/1");
	change("d/new1", JOURNAL_META, "chown -h 5 d/new1");
	make("n/m/5", "echo new >n/m/5");
	go_back_whole();
	rows_at_once = 100;
	ck_assert_uint_eq(loaded(), 1);
}
END_TEST

/* The first part of a run, which is ended before its windows. */
static void go_without_windows(void)
{
	GError *error = NULL;
	struct way way;

	trees_commit();
	journal_store_close(journal);
	rows_at_once = 1;
	way_open(&way);
	ck_assert(carry_out(way.tree, &stop_now, &way.done, &error));
	way_end_run(&way);
	rows_at_once = 100;
}

/* The names of what waited are found by comparing its directory. */
START_TEST(ended_before_windows)
{
	trees_make(FILL);
	make("e/x", "echo new >e/x");
	make("e/y", "echo new >e/y");
	take_away("a/5");
	make("a/5", "echo again >a/5");
	go_without_windows();
	sh("test ! -e " OLD_TREE "/e/x && grep -q old5 " OLD_TREE "/a/5");
	make("d/x", "ln e/x d/x");
	go_back_whole();
}
END_TEST

/* Where what waits cannot be kept, nothing is carried, and why is said. */
START_TEST(no_list)
{
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	make("e/x", "echo new >e/x");
	make("e/y", "echo new >e/y");
	trees_commit();
	journal_store_close(journal);
	rows_at_once = 1;
	way_begin(&way);
	sh("mv /mnt/carried /mnt/elsewhere");
	ck_assert(!plan_make(way.tree, &way.plan, &error));
	ck_assert(strstr(error->message, "/mnt/carried"));
	g_clear_error(&error);
	sh("mv /mnt/elsewhere /mnt/carried");
	way_end_run(&way);
	go_back_whole();
}
END_TEST

/* What others have put in the place of what waits is one conflict, and its directory is looked at
 * again. */
START_TEST(taken_place)
{
	trees_make(FILL);
	make("e/x", "echo new >e/x");
	make("e/y", "echo new >e/y");
	make("e/z", "echo new >e/z");
	sh("echo theirs >" OLD_TREE "/e/y");
	rows_at_once = 1;
	for (unsigned i = 0; i < 2; i++) {
		go_back(2); /* theirs, and what is to be there */
		sh("cd " OLD_TREE "/e && grep -q new x && grep -q theirs y && grep -q new z");
	}
	sh("rm " OLD_TREE "/e/y");
	go_back_whole();
}
END_TEST

/* What the first plan left where it was stays there, and what is in it: its name, and a place for
 * another, come when that one's place is free. */
START_TEST(stays)
{
	trees_make(FILL);
	move("a/3", "e/z");
	make("a/3", "echo new >a/3");
	move("a/b", "e/b");
	make("a/b", "echo new >a/b");
	make("e/x", "echo new >e/x");
	sh("cd " OLD_TREE "/e && echo theirs >z && echo theirs >b");
	rows_at_once = _i ? 1 : rows_at_once;
	for (unsigned i = 0; i < 2; i++) {
		go_back(6); /* what is theirs, and what that keeps out */
		sh("cd " OLD_TREE " && grep -q old3 a/3 && grep -q x a/b/x && grep -q y a/b/c/y && "
		   "grep -q theirs e/z && grep -q theirs e/b && grep -q new e/x");
	}
	sh("rm " OLD_TREE "/e/z " OLD_TREE "/e/b");
	go_back_whole();
}
END_TEST

/* By its ctime nobody touched it there since the switch; and what it is of is missed elsewhere. */
START_TEST(missed)
{
	trees_make(FILL);
	sh("mv " OLD_TREE "/a/3 " OLD_TREE "/d/g");
	wait_for_clocks();
	switched = g_get_real_time() * 1000;
	journal_store_state(journal)->since = switched;
	wait_for_clocks();
	make("d/g", "echo new >d/g");
	change("a/3", JOURNAL_META, "chmod 600 a/3");
	make("e/x.tmp", "echo new >e/x.tmp");
	make("a/5.tmp", "echo new >a/5.tmp");
	take_away("a/5");
	make("a/5", "echo new >a/5");
	rows_at_once = _i ? 1 : rows_at_once;
	go_back(3); /* it, what may be it, and what is to be there */
	sh("cd " OLD_TREE " && grep -q old3 d/g && grep -q new e/x.tmp && grep -q new a/5");
}
END_TEST

#define OUTSIDE 50 /* directories */

/* What is in another tree of the file system is none of the volume's: above the top is nothing. */
START_TEST(outside)
{
	struct timespec used;
	struct way way;

	trees_make(FILL);
	for (unsigned i = 0; i < OUTSIDE; i++) {
		g_autofree char *dir = g_strdup_printf("d/%u", i);
		g_autofree char *file = g_strdup_printf("d/%u/x", i);
		g_autofree char *mkdir = g_strdup_printf("mkdir d/%u", i);
		g_autofree char *command = g_strdup_printf("echo new >d/%u/x", i);

		make(dir, mkdir);
		make(file, command);
	}
	make("e/x", "echo new >e/x");
	trees_commit();
	journal_store_close(journal);
	rows_at_once = 1;
	way_begin(&way);
	tree_close(way.tree);
	way.config.root = (char *)NEW_TREE "/e";
	way.tree = tree_open(&way.config, way.reader, way.ledger, way.target, switched, NULL);
	ck_assert(way.tree && plan_make(way.tree, &way.plan, NULL));
	way_end_run(&way);
	ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
	ck_assert_int_lt(used.tv_sec, 3);
}
END_TEST

/* ---- what the old server does not take ------------------------------------------------------- */

static const char *objects_to(const char *path, mode_t mode)
{
	(void)mode;
	return strchr(path, ':') ? "has a name that it cannot say" : NULL;
}

static bool is_held(struct target *target, const char *path)
{
	(void)target;
	return g_str_has_prefix(path, TARGET_STAGE);
}

/* In a server of which some functions are others. */
static void go_with(const struct target_ops *other, unsigned conflicts, unsigned losses)
{
	struct target_ops ops;
	struct way way;

	trees_commit();
	journal_store_close(journal);
	way_begin(&way);
	ops = *way.target->ops;
	ops.objection = other->objection ? other->objection : ops.objection;
	ops.is_open = other->is_open ? other->is_open : ops.is_open;
	way.target->ops = &ops;
	ck_assert(plan_make(way.tree, &way.plan, NULL));
	way_go(&way);
	show(way.tree->conflicts);
	ck_assert_uint_eq(way.tree->conflicts->len, conflicts);
	ck_assert_uint_eq(way.tree->losses->len, losses);
	ck_assert_uint_eq(way.done.left, 0);
	way_end_run(&way);
}

static bool is_noted(const char *path)
{
	struct ledger *ledger = ledger_open("/mnt/carried", switched, false, NULL);
	const struct migrate_binding handle = handle_of(path);
	struct ledger_entry object;

	ck_assert_ptr_nonnull(ledger);
	const bool noted = ledger_get(ledger, &handle, &object) && object.generation;
	ledger_clear(&object);
	ledger_close(ledger);
	return noted;
}

/* What it cannot have is said, each object once in a run, and other directories are done. */
START_TEST(no_words)
{
	const struct target_ops other = {.objection = objects_to};

	trees_make(FILL);
	make("e/n:", "mkdir e/n:");
	make("e/n:/x", "echo new >e/n:/x");
	make("e/n:/y", "echo new >e/n:/y");
	make("a/z:", "echo new >a/z:");
	make("d/z", "echo new >d/z");
	rows_at_once = _i ? 1 : rows_at_once;
	for (unsigned i = 0; i < 2; i++) {
		go_with(&other, 0, 4);
		sh("cd " OLD_TREE " && test -e d/z && test ! -e a/z: && test ! -e e/n:");
		ck_assert(is_noted("d/z") && is_noted("d"));
		ck_assert(!is_noted("a") && !is_noted("a/z:") && !is_noted("e/n:/x"));
	}
	go_back_whole();
}
END_TEST

/* It is one line in windows, too. */
START_TEST(in_use)
{
	const struct target_ops other = {.is_open = is_held};

	trees_make(FILL);
	take_away("a/3");
	make("a/3", "mkdir a/3");
	make("e/x", "echo new >e/x");
	make("e/y", "echo new >e/y");
	rows_at_once = _i ? 1 : rows_at_once;
	go_with(&other, 1, 0);
	sh("test -d " OLD_TREE "/a/3 && test -e " OLD_TREE "/e/y");
	go_back_whole();
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

#define IN_ONE	  1000u /* directory */
#define BYTES_MAX 700	/* an object that waits: pages that happen to be mapped */

static unsigned objects = 12000;

/* Files with their rows, or rows of the files. */
static void change_many(unsigned first, unsigned end, unsigned flags)
{
	for (unsigned i = first; i < end; i++) {
		g_autofree char *dir = g_strdup_printf("many%u", i / IN_ONE);
		g_autofree char *name = g_strdup_printf("%s/file number %u.txt", dir, i);
		g_autofree char *full = in_new(name), *full_dir = in_new(dir);

		if (!mkdir(full_dir, 0755))
			note_made(dir);
		int fd = open(full, O_WRONLY | O_CREAT, 0644);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(fchmod(fd, flags & JOURNAL_MADE ? 0644 : 0600), 0);
		close(fd);
		if (flags & JOURNAL_MADE)
			note_made(name);
		else
			note(name, flags);
	}
}

/* KiB, of a run that plans alone, or carries. */
static long peak(bool carries)
{
	struct rusage used;
	struct way way;
	int status;

	trees_commit();
	journal_store_close(journal);
	pid_t pid = fork();
	if (!pid) {
		way_open(&way);
		if (carries)
			way_go(&way);
		else if (!rollback_windows(way.tree, &way.plan, NULL, NULL, NULL))
			_exit(1);
		way_close(&way);
		_exit(0);
	}
	ck_assert_int_eq(wait4(pid, &status, 0, &used), pid);
	ck_assert_int_eq(status, 0);
	open_store();
	return used.ru_maxrss;
}

static void say(const char *what, long half, long all)
{
	const long bytes = (all - half) * 1024 / (objects / 2);

	printf("%s: %u objects %ld KiB, %u %ld KiB: %ld bytes an object\n", what, objects / 2, half,
	       objects, all, bytes);
	fflush(stdout);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which keep what is freed */
	ck_assert_int_le(bytes, BYTES_MAX);
#endif
}

/* It does not grow with what waits for windows but by what that is. */
START_TEST(memory)
{
	long half, all;

	rows_at_once = MIN(rows_at_once, objects / 6);
	trees_make("true");
	change_many(0, objects / 2, JOURNAL_MADE);
	half = peak(false);
	change_many(objects / 2, objects, JOURNAL_MADE);
	all = peak(false);
	say("planned, made", half, all);
	printf("carried, made: %ld KiB\n", peak(true));
	same_trees();
	change_many(0, objects, JOURNAL_META);
	printf("carried, changed: %ld KiB\n", peak(true));
	same_trees();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("rows");
	TCase *tcase = tcase_create("all"), *large = tcase_create("memory");

	if (argc > 1)
		objects = (unsigned)atoi(argv[1]);
	tcase_set_timeout(tcase, 60);
	tcase_set_timeout(large, 3600);
	tcase_add_test(tcase, counts_once);
	tcase_add_loop_test(tcase, windows, 0, 3);
	tcase_add_test(tcase, ended_before_windows);
	tcase_add_test(tcase, no_list);
	tcase_add_test(tcase, taken_place);
	tcase_add_loop_test(tcase, stays, 0, 2);
	tcase_add_loop_test(tcase, missed, 0, 2);
	tcase_add_test(tcase, outside);
	tcase_add_loop_test(tcase, no_words, 0, 2);
	tcase_add_loop_test(tcase, in_use, 0, 2);
	tcase_add_test(large, memory);
	suite_add_tcase(suite, tcase);
	suite_add_tcase(suite, large);
	return run_suite(suite);
}
