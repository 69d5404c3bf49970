/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"
#include "tests/retriever/core_old.h"
#include "tests/retriever/core_step.h"

#include <dirent.h>

#include "retriever/objects/old_handles.h"
#include "tests/durable.h"

static void make_source(void)
{
	old_begin();
	core_source_file(&core, "a/b/file", 5000, 1);
	core_source_file(&core, "a/b/small", 10, 2);
	core_source_file(&core, "a/empty", 0, 3);
	shell("cd %s/a && ln -s target link && mkfifo fifo && ln b/file hard && mkdir -p none",
	      core.source);
}

static void expect_all_known(void)
{
	static const char *const paths[] = {"",	       "a",	 "a/b",	   "a/b/file", "a/b/small",
					    "a/empty", "a/link", "a/fifo", "a/hard",   "a/none"};
	struct migrate_old_index *index = old_index();

	for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++)
		old_expect_known(index, paths[i]);
	migrate_old_index_close(index);
}

START_TEST(objects_of_every_kind)
{
	make_source();
	core_start(&core);
	make_all();
	expect_all_known();
	core_free(&core);
}
END_TEST

START_TEST(those_of_a_prior_copy)
{
	make_source();
	copy_run("run");
	copy_attach();
	make_all();
	expect_all_known();
	core_free(&core);
}
END_TEST

START_TEST(those_of_another_tools_copy)
{
	make_source();
	copy_by_cp();
	adopt((struct attach){0});
	make_all();
	expect_all_known();
	core_free(&core);
}
END_TEST

/* The listing meets them again: what it makes in vain must not take their place. */
START_TEST(names_that_were_looked_up_before)
{
	make_source();
	core_start(&core);
	core.retriever->carries = 0; /* nothing is asked before a file is made */
	close(core_find(&core, "a/b/file", O_RDONLY));
	close(core_find(&core, "a/empty", O_RDONLY));
	make_all();
	expect_all_known();
	core_free(&core);
}
END_TEST

static const char *const kinds[] = {"file", "empty", "none", "fifo", "link"};

static void make_kinds(void)
{
	old_begin();
	core_source_file(&core, "a/empty", 0, 1);
	core_source_file(&core, "a/file", 5000, 2);
	shell("cd %s/a && mkdir none && mkfifo fifo && ln -s target link", core.source);
}

static void expect_kinds_known(void)
{
	struct migrate_old_index *index = old_index();

	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *path = g_build_filename("a", kinds[i], NULL);

		old_expect_known(index, path);
	}
	migrate_old_index_close(index);
}

static unsigned early, late; /* found by their old handles: before they have a name, and after */

static bool gives_name(const char *call)
{
	return strcmp(call, "linkat") == 0 || strcmp(call, "renameat2") == 0;
}

static unsigned count_found(void)
{
	struct migrate_old_index *index = old_index();
	unsigned n = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autofree char *there = g_build_filename(core.source, "a", kinds[i], NULL);

		n += old_is_found(index, there);
	}
	migrate_old_index_close(index);
	return n;
}

static void count_early(const char *call, int fd, bool after)
{
	if (!after && gives_name(call))
		early += count_found() - late++;
}

/* Clients that know its handle may write to what is given up again. */
START_TEST(none_is_found_before_it_has_its_name)
{
	int dir;

	make_kinds();
	core_start(&core);
	dir = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	atomic_store(&core_hook, count_early);
	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
		ck_assert_int_eq(core_name_in(&core, dir, kinds[i]), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(late, G_N_ELEMENTS(kinds));
	ck_assert_uint_eq(early, 0);
	ck_assert_uint_eq(count_found(), G_N_ELEMENTS(kinds));
	expect_kinds_known();
	core_free_with(&core, dir);
}
END_TEST

/* The others are of another kind than what takes their names. */
static bool is_file(unsigned kind)
{
	return kind < 2;
}

/* Somebody else is first. */
static void take_name(const char *call, int fd, bool after)
{
	if (!after && gives_name(call))
		shell("touch %s/a/%s", core.root, kinds[late++]);
}

START_TEST(what_is_made_in_vain_is_not_found)
{
	int dir;

	make_kinds();
	core_start(&core);
	dir = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	atomic_store(&core_hook, take_name);
	for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
		ck_assert_int_eq(core_name_in(&core, dir, kinds[i]), is_file(i) ? 0 : -EREMOTEIO);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(late, G_N_ELEMENTS(kinds));
	ck_assert_uint_eq(count_found(), 0);
	core_free_with(&core, dir);
}
END_TEST

/* Each time before another call. */
START_TEST(a_retriever_that_is_killed_loses_none)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		make_kinds();
		shell("ln %s/a/file %s/a/hard", core.source, core.source);
		core_supervise(&core, nth);
		core_connect(&core);
		make_all();
		killed = core_killed();
		core_disconnect(&core);
		core_end_supervision(&core);
		expect_kinds_known();
		core_free(&core);
		ck_assert_int_lt(nth, 500);
	}
}
END_TEST

/* What a client was given outlives a power cut from the next save on. */
START_TEST(what_is_saved_is_durable)
{
	g_autofree char *file = NULL;

	make_source();
	core_start(&core);
	file = g_strconcat(core.dir, "/kept/takeover.all", NULL);
	close(core_find(&core, "a/empty", O_RDONLY));
	ck_assert(!is_durable_at(file));
	old_handles_save(core.retriever);
	ck_assert_durable(file);
	core_free(&core);
}
END_TEST

START_TEST(they_stay_when_it_is_opened_again)
{
	struct migrate_old_index *index;

	make_source();
	core_start(&core);
	make_all();
	core_restart(&core);
	expect_all_known();
	index = old_index();
	ck_assert(!migrate_old_index_is_doubted(index));
	migrate_old_index_close(index);
	core_free(&core);
}
END_TEST

START_TEST(all_are_known_when_every_directory_is_filled)
{
	struct migrate_old_index *index;
	int a;

	make_source();
	core_open(&core);
	index = old_index();
	old_handles_save(core.retriever);
	ck_assert(!migrate_old_index_is_complete(index)); /* it is not attached */
	core_attach(&core);
	core_run(&core);
	core_connect(&core);
	old_handles_save(core.retriever);
	ck_assert(!migrate_old_index_is_complete(index));
	a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	old_handles_save(core.retriever);
	ck_assert(!migrate_old_index_is_complete(index));
	close(a);
	make_all();
	old_handles_save(core.retriever);
	ck_assert(migrate_old_index_is_complete(index));
	migrate_old_index_close(index);
	core_free(&core);
}
END_TEST

/* Of whole ones nobody knows what they were. */
START_TEST(a_walk_makes_a_lost_one_anew)
{
	static const char *const opened[] = {"", "a", "a/b", "a/b/file"};
	static const char *const whole[] = {"a/empty", "a/link"};
	struct migrate_old_index *index;

	make_source();
	core_start(&core);
	core.retriever->carries = 0; /* no data with the names */
	for (unsigned i = 0; i < 3; i++) {
		int fd = core_find(&core, opened[i], O_RDONLY | O_DIRECTORY);

		ck_assert_int_eq(core_wait(core_ask_fill(&core, fd, 0)), 0);
		close(fd);
	}
	core_disconnect(&core);
	core_close(&core);
	shell("rm %s/kept/takeover.all", core.dir);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	old_handles_save(core.retriever);
	index = old_index();
	ck_assert(migrate_old_index_is_doubted(index));
	for (unsigned i = 1; i < G_N_ELEMENTS(opened); i++) {
		g_autofree char *there = g_build_filename(core.source, opened[i], NULL);

		ck_assert(!old_is_found(index, there));
	}
	make_all();
	for (unsigned i = 0; i < G_N_ELEMENTS(opened); i++)
		old_expect_known(index, opened[i]);
	for (unsigned i = 0; i < G_N_ELEMENTS(whole); i++) {
		g_autofree char *there = g_build_filename(core.source, whole[i], NULL);

		ck_assert(!old_is_found(index, there));
	}
	old_handles_save(core.retriever);
	ck_assert(migrate_old_index_is_complete(index));
	migrate_old_index_close(index);
	core_free(&core);
}
END_TEST

START_TEST(nothing_is_kept_where_it_is_not_wanted)
{
	g_autofree char *file = NULL;

	make_source();
	core.takeover = TAKEOVER_MOUNTS;
	core_start(&core);
	make_all();
	ck_assert(!old_handles_are_wanted(core.retriever));
	file = g_strconcat(core.dir, "/kept/takeover.all", NULL);
	ck_assert_int_ne(access(file, F_OK), 0);
	core_free(&core);
}
END_TEST

START_TEST(what_cannot_be_kept_is_told)
{
	g_autofree char *file = NULL, *error = NULL;

	make_source();
	file = g_strconcat(core.dir, "/kept/takeover.all", NULL);
	ck_assert(g_file_set_contents(file, "something that is not one of ours", -1, NULL));
	shell("truncate -s 1M %s", file);
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(error);
	ck_assert_ptr_nonnull(strstr(error, "takeover.all"));
	ck_assert_ptr_nonnull(strstr(error, "move it away"));
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("old_handles", 60);

	tcase_add_test(tcase, objects_of_every_kind);
	tcase_add_test(tcase, those_of_a_prior_copy);
	tcase_add_test(tcase, those_of_another_tools_copy);
	tcase_add_test(tcase, names_that_were_looked_up_before);
	tcase_add_test(tcase, none_is_found_before_it_has_its_name);
	tcase_add_test(tcase, what_is_made_in_vain_is_not_found);
	tcase_add_test(tcase, a_retriever_that_is_killed_loses_none);
	tcase_add_test(tcase, what_is_saved_is_durable);
	tcase_add_test(tcase, they_stay_when_it_is_opened_again);
	tcase_add_test(tcase, all_are_known_when_every_directory_is_filled);
	tcase_add_test(tcase, a_walk_makes_a_lost_one_anew);
	tcase_add_test(tcase, nothing_is_kept_where_it_is_not_wanted);
	tcase_add_test(tcase, what_cannot_be_kept_is_told);
	return run_tcase(tcase);
}
