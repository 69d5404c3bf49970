/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"
#include "tests/retriever/core_hook.h"

#include "retriever/copies/listing_entries.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/names/fill.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"

/* The same with a single name whose answer comes late. */
START_TEST(i7_a_late_name_is_not_brought_back)
{
	struct migrate_waiter *name;
	unsigned rule;
	int fd;

	fd = begin(3);
	rule = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP,
								  .name = "f0",
								  .action = FAULT_STALL});
	name = CORE_WAIT(w, migrate_fetch_name(core.volume, fd, "f0", 0, migrate_waiter_done, w));
	ck_assert(backend_fault_wait(core.fault, rule, 1));
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(unlinkat(fd, "f0", 0), 0);
	backend_fault_release(core.fault, rule);
	ck_assert_int_eq(core_wait(name), -ENOENT);
	ck_assert_uint_eq(count_names(fd), 2);
	core_free_with(&core, fd);
}
END_TEST

/* A page that was listed before the directory was filled, and is made after. */
START_TEST(i7_a_late_page_does_not_bring_back_names)
{
	struct migrate_waiter *a, *b;
	int fd;

	fd = begin(2000);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = LISTS,
							   .priorities = 1u << BACKEND_DEMAND,
							   .action = FAULT_DELAY,
							   .ms = 1});
	a = core_ask_fill(&core, fd, MIGRATE_BACKGROUND);
	b = core_ask_fill(&core, fd, 0);
	ck_assert_int_eq(core_wait(a), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	for (unsigned i = 0; i < 2000; i++) {
		char name[32];

		g_snprintf(name, sizeof(name), "f%u", i);
		if (unlinkat(fd, name, 0) < 0)
			ck_abort_msg("%s", name);
	}
	ck_assert_int_eq(core_wait(b), 0);
	core_restart(&core);
	ck_assert_uint_eq(count_names(fd), 0);
	core_free_with(&core, fd);
}
END_TEST

/* While a client's bracket is open on the directory nothing is made in it; its times are kept. */
START_TEST(i7_a_fill_waits_for_the_bracket)
{
	const struct timespec times[2] = {{1300000000, 1}, {1300000001, 2}};
	g_autofree char *link = NULL;
	struct migrate_waiter *w;
	struct stat st;
	uint64_t id;
	int fd;

	core_make(&core);
	make_files("d", 5);
	link = g_strconcat(core.source, "/d/l", NULL);
	ck_assert_int_eq(symlink("target", link), 0);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_begin(&core, fd, -1, MIGRATE_ATTRIBUTES, 0, 0, &id), 0);
	w = core_ask_fill(&core, fd, 0);
	ck_assert_int_eq(core_range(&core, fd, 0, 0), -EISDIR);
	ck_assert(backend_fault_wait_idle(core.fault));
	ck_assert_uint_eq(count_names(fd), 0);
	ck_assert_int_eq(futimens(fd, times), 0);
	ck_assert_int_eq(core_end(&core, id, true, false, 0, 0), 0);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_uint_eq(count_names(fd), 6);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1300000001);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 2);
	core_free_with(&core, fd);
}
END_TEST

/* Every name is here, and somebody still writes there: FILLED comes last. */
START_TEST(i6_filled_when_nobody_writes)
{
	struct object *object;
	struct migrate_waiter *w = migrate_waiter_new();
	g_autofree char *path = NULL;
	int fd;

	core_make(&core);
	path = g_strconcat(core.source, "/d", NULL);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	core_start(&core);
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	ck_assert(fill_try_enter(object));
	ck_assert(!directory_names_fixed(object));
	g_mutex_lock(&object->lock);
	waiters_add(object, 0, 0, false, migrate_waiter_done, w);
	directory_set_complete(object, directory_fill_again);
	ck_assert_int_eq(directory_of(object)->names, NAMES_COMPLETE);
	g_mutex_unlock(&object->lock);
	ck_assert(directory_names_fixed(object));
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	fill_leave(object);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert(directory_names_fixed(object));
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

static ino_t crowded; /* a directory whose record has no room to grow, once */

static void refuse_once(const char *call, int fd, bool after)
{
	struct stat st;

	if (after || strcmp(call, "fsetxattr"))
		return;
	core_fail_xattr = NULL;
	if (fstat(fd, &st) < 0 || st.st_ino != crowded)
		return;
	crowded = 0;
	core_fail_xattr = MIGRATE_XATTR;
	core_fail_errno = ENOSPC;
}

START_TEST(i12_no_room_for_the_sum_of_the_names)
{
	int fd = begin(3);
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	crowded = st.st_ino;
	atomic_store(&core_hook, refuse_once);
	ck_assert_int_eq(fill(fd), 0);
	atomic_store(&core_hook, NULL);
	ck_assert_uint_eq(crowded, 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_int_eq(make_whole(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_NORMAL);
	core_free_with(&core, fd);
}
END_TEST

static GArray *names(const char *name)
{
	GArray *array = listing_entries_array();
	uint64_t hash = listing_sum_hash(name);

	g_array_append_val(array, hash);
	return array;
}

/* What was listed and is not here is listed once more, before the directory is called filled. */
START_TEST(i13_a_name_that_is_not_here)
{
	struct migrate_waiter *w = migrate_waiter_new();
	struct object *object;
	int fd = begin(1);

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	g_mutex_lock(&object->lock);
	waiters_add(object, 0, 0, false, migrate_waiter_done, w);
	directory_of(object)->listed = names("f0");
	directory_set_complete(object, directory_fill_again);
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 1);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* What a copy has is not swept by a listing that was given up. */
START_TEST(i12_names_that_nobody_knows)
{
	struct migrate_waiter *w = migrate_waiter_new();
	struct object *object;
	int fd = begin(1);

	ck_assert_int_eq(core_name_in(&core, fd, "f0"), 0);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	g_mutex_lock(&object->lock);
	waiters_add(object, 0, 0, false, migrate_waiter_done, w);
	directory_of(object)->sum = listing_sum_new(core.retriever, fd);
	directory_set_complete(object, directory_fill_again);
	g_mutex_unlock(&object->lock);
	ck_assert_int_eq(core_wait(w), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	ck_assert_uint_eq(count_names(fd), 1);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* It only seems to be: the file system has another one by its name. */
START_TEST(i13_a_name_that_another_has)
{
	struct object *object;
	int fd = begin(2);

	ck_assert_int_eq(core_name_in(&core, fd, "f0"), 0);
	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	directory_of(object)->not_here = names("f0");
	ck_assert_int_lt(fill(fd), 0);
	core_expect_answer(&core, "errors 0", "/d/f0\n");
	core_expect_answer(&core, "errors 0", "another object has this name here");
	ck_assert_int_eq(core_state(fd), MIGRATE_UNFILLED);
	ck_assert_uint_eq(count_names(fd), 2);
	object_unref(object);
	core_free_with(&core, fd);
}
END_TEST

/* Where a power cut may take that back, and not what clients change then, it is durable first. */
START_TEST(i6_without_order_filled_is_durable_first)
{
	int fd = begin(3);

	core.retriever->capabilities.lacking = _i ? 1u << CAPABILITY_ORDER : 0;
	core_fail_sync = "fsync";
	ck_assert_int_eq(fill(fd), _i ? -EIO : 0);
	core_fail_sync = NULL;
	ck_assert_int_eq(fill(fd), 0);
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("directory state", 60);

	tcase_add_test(tcase, i7_a_late_name_is_not_brought_back);
	tcase_add_test(tcase, i7_a_late_page_does_not_bring_back_names);
	tcase_add_test(tcase, i7_a_fill_waits_for_the_bracket);
	tcase_add_test(tcase, i6_filled_when_nobody_writes);
	tcase_add_test(tcase, i12_no_room_for_the_sum_of_the_names);
	tcase_add_test(tcase, i13_a_name_that_is_not_here);
	tcase_add_test(tcase, i13_a_name_that_another_has);
	tcase_add_test(tcase, i12_names_that_nobody_knows);
	tcase_add_loop_test(tcase, i6_without_order_filled_is_durable_first, 0, 2);
	return run_tcase(tcase);
}
