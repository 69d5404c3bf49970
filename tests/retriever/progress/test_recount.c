/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/pairs.h"
#include "tests/retriever/core.h"

#include "retriever/progress/recount.h"

static struct core core;
static int root;

static void begin(void)
{
	int fd;

	core_make(&core);
	core_open(&core);
	root = core_root(&core);
	ck_assert_int_eq(mkdirat(root, "d", 0700), 0);
	fd = openat(root, "f", O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	close(fd);
}

static void end(void)
{
	core_free_with(&core, root);
}

static void change(const char *name, unsigned changes, bool done)
{
	ino_t ino = recount_begin(core.retriever, root, name, changes);

	recount_end(core.retriever, ino, changes, done);
}

static void saw(struct recount *recount, const char *name, unsigned changes)
{
	struct stat st;

	ck_assert_int_eq(fstatat(root, name, &st, 0), 0);
	recount_saw(recount, &st, changes);
}

static struct recount_sums stop(struct recount *recount)
{
	struct recount_sums sums;

	recount_stop(recount, &sums);
	recount_free(recount);
	return sums;
}

START_TEST(what_the_walk_has_not_seen)
{
	struct recount_sums sums;
	struct recount *recount;

	begin();
	change("f", RECOUNT_MADE, true); /* before it */
	recount = recount_new(core.retriever);
	change("f", RECOUNT_MADE, true);
	change("f", RECOUNT_WHOLE, true);
	change("d", RECOUNT_MADE, true);
	sums = stop(recount);
	ck_assert_int_eq(sums.files, 1);
	ck_assert_int_eq(sums.bytes, 1000);
	ck_assert_int_eq(sums.files_whole, 1);
	ck_assert_int_eq(sums.bytes_whole, 1000);
	ck_assert_int_eq(sums.directories, 1);
	ck_assert_int_eq(sums.unfilled, 1);
	ck_assert_int_eq(sums.directories_whole, 0);
	end();
}
END_TEST

START_TEST(what_the_walk_has_seen_before)
{
	struct recount_sums sums;
	struct recount *recount;

	begin();
	recount = recount_new(core.retriever);
	saw(recount, "f", 0);
	saw(recount, "d", 0);
	change("f", RECOUNT_WHOLE, true);
	change("d", RECOUNT_FILLED, true);
	change("d", RECOUNT_WHOLE, true);
	sums = stop(recount);
	ck_assert_int_eq(sums.files, 0);
	ck_assert_int_eq(sums.bytes, 0);
	ck_assert_int_eq(sums.files_whole, 1);
	ck_assert_int_eq(sums.bytes_whole, 1000);
	ck_assert_int_eq(sums.directories, 0);
	ck_assert_int_eq(sums.unfilled, -1);
	ck_assert_int_eq(sums.directories_whole, 1);
	end();
}
END_TEST

START_TEST(what_the_walk_sees_afterwards)
{
	struct recount_sums sums;
	struct recount *recount;

	begin();
	recount = recount_new(core.retriever);
	change("f", RECOUNT_MADE | RECOUNT_WHOLE, true);
	change("d", RECOUNT_MADE, true);
	change("d", RECOUNT_FILLED, true);
	saw(recount, "f", RECOUNT_WHOLE);
	saw(recount, "d", RECOUNT_FILLED);
	change("d", RECOUNT_WHOLE, true);
	sums = stop(recount);
	ck_assert_int_eq(sums.files + sums.files_whole + sums.bytes + sums.bytes_whole, 0);
	ck_assert_int_eq(sums.directories, 0);
	ck_assert_int_eq(sums.unfilled, 0);
	ck_assert_int_eq(sums.directories_whole, 1);
	end();
}
END_TEST

START_TEST(what_is_not_done)
{
	struct recount_sums sums;
	struct recount *recount;

	begin();
	recount = recount_new(core.retriever);
	change("f", RECOUNT_WHOLE, false);
	change("d", RECOUNT_MADE, true);
	change("d", RECOUNT_FILLED, false);
	change("none", RECOUNT_MADE, true);
	sums = stop(recount);
	ck_assert_int_eq(sums.files + sums.files_whole, 0);
	ck_assert_int_eq(sums.directories, 1);
	ck_assert_int_eq(sums.unfilled, 1);
	end();
}
END_TEST

/* Each walk has notes of its own; one that fails has none. */
START_TEST(two_walks)
{
	struct recount *one, *two, *failed;

	begin();
	one = recount_new(core.retriever);
	change("f", RECOUNT_WHOLE, true);
	two = recount_new(core.retriever);
	failed = recount_new(core.retriever);
	recount_free(failed);
	change("d", RECOUNT_WHOLE, true);
	saw(one, "d", RECOUNT_WHOLE);
	{
		const struct recount_sums first = stop(one), second = stop(two);

		ck_assert_int_eq(first.files_whole, 1);
		ck_assert_int_eq(first.directories_whole, 0);
		ck_assert_int_eq(second.files_whole, 0);
		ck_assert_int_eq(second.directories_whole, 1);
	}
	end();
}
END_TEST

static void change_file(void *arg)
{
	change("f", RECOUNT_WHOLE, true);
}

static void fail_at_file(void *arg)
{
	change("f", RECOUNT_MADE, false);
}

static void see_file(void *arg)
{
	saw(arg, "f", RECOUNT_WHOLE);
}

static void walk_beside(void *arg)
{
	recount_free(recount_new(core.retriever));
}

START_TEST(several_threads)
{
	struct recount *recount;

	begin();
	recount = recount_new(core.retriever);
	{
		struct paired_call calls[] = {
			{change_file, NULL}, {fail_at_file, NULL}, {see_file, recount}};
		struct paired_call walk = {walk_beside, NULL};

		call_in_pairs(calls, G_N_ELEMENTS(calls));
		call_beside(&calls[0], &walk);
	}
	recount_free(recount);
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("recount", 60);

	tcase_add_test(tcase, what_the_walk_has_not_seen);
	tcase_add_test(tcase, what_the_walk_has_seen_before);
	tcase_add_test(tcase, what_the_walk_sees_afterwards);
	tcase_add_test(tcase, what_is_not_done);
	tcase_add_test(tcase, two_walks);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
