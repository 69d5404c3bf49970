/* SPDX-License-Identifier: GPL-3.0-or-later */
/* I5: what is not normal has no normal ancestor. */
#include "tests/retriever/core_directory.h"

#include "retriever/data/place.h"

/* old: a/file (10000 bytes), b/c/ (empty below).  b and c are made normal. */
static void start(int *a, int *b, int *c)
{
	g_autofree char *path = NULL;

	core_make(&core);
	core_source_file(&core, "a/file", 10000, 1);
	path = g_strconcat(core.source, "/b/c", NULL);
	ck_assert_int_eq(g_mkdir_with_parents(path, 0755), 0);
	core_start(&core);
	*a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
	*b = core_find(&core, "b", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(fill(*a), 0);
	ck_assert_int_eq(fill(*b), 0);
	*c = open_below(*b, "c", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(make_whole(*c), 0);
	ck_assert_int_eq(make_whole(*b), 0);
	ck_assert_int_eq(core_state(*b), MIGRATE_NORMAL);
	ck_assert_int_eq(core_state(*c), MIGRATE_NORMAL);
}

static void stop(int a, int b, int c)
{
	close(a);
	close(b);
	core_free_with(&core, c);
}

START_TEST(i5_a_placing_marks_the_ancestors)
{
	struct stat before, after;
	uint64_t id;
	int a, b, c, root, file;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	ck_assert_int_eq(fstat(c, &before), 0);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(core_state(c), MIGRATE_FILLED);
	ck_assert_int_eq(core_state(b), MIGRATE_FILLED);
	ck_assert_int_eq(fstat(c, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_int_eq(core_finish(&core, c), -EAGAIN); /* a placing is open */
	ck_assert_int_eq(renameat(a, "file", c, "moved"), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(core_finish(&core, c), -EAGAIN); /* the file is there, unfinished */
	ck_assert_int_eq(core_finish(&core, b), -EAGAIN);
	/* it is found on the old server though it has another place here */
	core_restart(&core);
	ck_assert_int_eq(core_range(&core, file, 0, UINT64_MAX), 0);
	core_expect(file, 0, 10000, 1);
	ck_assert_int_eq(make_whole(c), 0);
	ck_assert_int_eq(make_whole(b), 0);
	ck_assert_int_eq(make_whole(a), 0);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	close(root);
	close(file);
	stop(a, b, c);
}
END_TEST

static struct stat marked_first;
static atomic_uint syncs;

static void count_syncs(const char *call, int fd, bool after)
{
	struct stat st;

	if (strcmp(call, "fsync") != 0 || !after || fstat(fd, &st) < 0)
		return;
	if (syncs++ == 0)
		marked_first = st;
}

/* Where a power cut may leave the name there without what was done above: from the top down. */
START_TEST(i5_without_order_the_ancestors_are_durable_first)
{
	struct stat st;
	uint64_t id;
	int a, b, c, file;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	core.retriever->capabilities.lacking = _i ? 1u << CAPABILITY_ORDER : 0;
	atomic_store(&core_hook, count_syncs);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(syncs, _i ? 2 : 0);
	ck_assert_int_eq(fstat(b, &st), 0);
	ck_assert(!_i || marked_first.st_ino == st.st_ino);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	close(file);
	stop(a, b, c);
}
END_TEST

/* What could not be made durable is not taken for it by the next one. */
START_TEST(i5_without_order_a_sync_that_fails)
{
	uint64_t id;
	int a, b, c, file;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	core.retriever->capabilities.lacking = 1u << CAPABILITY_ORDER;
	core_fail_sync = "fsync";
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), -EIO);
	core_fail_sync = NULL;
	ck_assert_int_eq(core_state(b), MIGRATE_NORMAL);
	syncs = 0;
	atomic_store(&core_hook, count_syncs);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(syncs, 2);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	close(file);
	stop(a, b, c);
}
END_TEST

/* Many placings and finishes at the same time. */
static atomic_bool enough;

static void *finish_for_ever(void *fd)
{
	while (!atomic_load(&enough))
		core_finish(&core, GPOINTER_TO_INT(fd));
	return NULL;
}

START_TEST(i5_placings_against_finishes)
{
	pthread_t threads[2];
	int a, b, c, file;
	bool in_c = false;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	pthread_create(&threads[0], NULL, finish_for_ever, GINT_TO_POINTER(b));
	pthread_create(&threads[1], NULL, finish_for_ever, GINT_TO_POINTER(c));
	for (unsigned i = 0; i < 200; i++) {
		int from = in_c ? c : a, to = in_c ? a : c;
		uint64_t id;

		ck_assert_int_eq(core_begin(&core, file, to, MIGRATE_PLACE, 0, 0, &id), 0);
		ck_assert_int_eq(renameat(from, "file", to, "file"), 0);
		ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
		in_c = !in_c;
		if (in_c && (core_state(c) == MIGRATE_NORMAL || core_state(b) == MIGRATE_NORMAL))
			ck_abort_msg("normal above a stub");
	}
	atomic_store(&enough, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	close(file);
	stop(a, b, c);
}
END_TEST

/* Killed while it marks the ancestors: none of the marks is below something normal. */
START_TEST(i5_killed_while_marking)
{
	bool killed = true;

	for (int nth = 1; killed; nth += CORE_STEP) {
		int a, b, c, file, ret;
		uint64_t id;

		core_make(&core);
		core_source_file(&core, "a/file", 10000, 1);
		core_source_file(&core, "b/c/x", 0, 1);
		core_supervise(&core, 0);
		core_connect(&core);
		a = core_find(&core, "a", O_RDONLY | O_DIRECTORY);
		b = core_find(&core, "b", O_RDONLY | O_DIRECTORY);
		ck_assert_int_eq(fill(a), 0);
		ck_assert_int_eq(fill(b), 0);
		c = open_below(b, "c", O_RDONLY | O_DIRECTORY);
		ck_assert_int_eq(make_whole(c), 0);
		ck_assert_int_eq(make_whole(b), 0);
		file = open_below(a, "file", O_RDONLY);
		atomic_store(&core_shared->left, nth);
		ret = core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id);
		killed = core_killed();
		if (core_state(c) != MIGRATE_NORMAL)
			ck_assert_int_ne(core_state(b), MIGRATE_NORMAL);
		ck_assert(killed || ret == 0);
		core_disconnect(&core);
		core_end_supervision(&core);
		close(file);
		stop(a, b, c);
		ck_assert_int_lt(nth, 100);
	}
}
END_TEST

/* The door that was let place something by a retriever that is dead may do so any time. */
START_TEST(i5_a_held_directory_stays_unfinished)
{
	uint64_t id;
	int a, b, c, file, held;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	held = migrate_lock_directory(c, MIGRATE_HOLD_SHARED, NULL);
	ck_assert_int_ge(held, 0);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), 0);
	core_restart(&core);
	ck_assert_int_eq(core_finish(&core, c), -EAGAIN);
	ck_assert_int_eq(core_finish(&core, b), -EAGAIN);
	ck_assert_int_eq(core_state(c), MIGRATE_FILLED);
	close(held);
	ck_assert_int_eq(make_whole(c), 0);
	ck_assert_int_eq(make_whole(b), 0);
	close(file);
	stop(a, b, c);
}
END_TEST

/* While a normal directory is moved nothing can be placed below it: it has no certain ancestors. */
START_TEST(i5_nothing_is_placed_below_what_is_moved)
{
	uint64_t id;
	int a, b, c, file, held;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	held = migrate_lock_directory(b, MIGRATE_HOLD_ALONE, NULL);
	ck_assert_int_ge(held, 0);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), -EAGAIN);
	ck_assert_int_eq(core_state(b), MIGRATE_NORMAL);
	ck_assert_int_eq(core_state(c), MIGRATE_NORMAL);
	close(held);
	ck_assert_int_eq(core_begin(&core, file, c, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(core_state(b), MIGRATE_FILLED);
	ck_assert_int_eq(core_end(&core, id, false, false, 0, 0), 0);
	close(file);
	stop(a, b, c);
}
END_TEST

/* A directory that is not of the volume. */
START_TEST(a_placing_elsewhere_is_refused)
{
	int a, b, c, file, elsewhere;
	uint64_t id;

	start(&a, &b, &c);
	file = open_below(a, "file", O_RDONLY);
	elsewhere = open(core.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_lt(core_begin(&core, file, elsewhere, MIGRATE_PLACE, 0, 0, &id), 0);
	ck_assert_int_eq(core_state(elsewhere), MIGRATE_NORMAL);
	close(elsewhere);
	close(file);
	stop(a, b, c);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("place", 60);

	tcase_add_test(tcase, i5_a_placing_marks_the_ancestors);
	tcase_add_loop_test(tcase, i5_without_order_the_ancestors_are_durable_first, 0, 2);
	tcase_add_test(tcase, i5_without_order_a_sync_that_fails);
	tcase_add_test(tcase, i5_placings_against_finishes);
	tcase_add_test(tcase, i5_a_held_directory_stays_unfinished);
	tcase_add_test(tcase, i5_nothing_is_placed_below_what_is_moved);
	tcase_add_test(tcase, i5_killed_while_marking);
	tcase_add_test(tcase, a_placing_elsewhere_is_refused);
	return run_tcase(tcase);
}
