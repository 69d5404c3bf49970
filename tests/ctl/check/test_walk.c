/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/check/surveyed.h"

static struct made_walk made;

static const struct made_object tree[] = {
	{"", S_IFDIR | 0755},	  {"a", S_IFDIR | 0755},
	{"a/b", S_IFDIR | 0755},  {"a/b/f", S_IFREG | 0644, .size = 5},
	{"wide", S_IFDIR | 0755}, {"g", S_IFREG | 0644, .size = 7},
};

START_TEST(all)
{
	uint64_t objects, bytes, pending;

	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	made_walk_run(&made);
	ck_assert_uint_eq(made.tally.types[TALLY_DIRECTORIES], 4);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 2);
	ck_assert_uint_eq(made.tally.bytes, 12);
	g_mutex_init(&made.walk.lock);
	walk_now(&made.walk, &objects, &bytes, &pending);
	g_mutex_clear(&made.walk.lock);
	ck_assert_uint_eq(objects, 6);
	ck_assert_uint_eq(bytes, 12);
	ck_assert_uint_eq(pending, 0);
	made_walk_end(&made);
}
END_TEST

/* While it is held nothing is counted, and what is held can be gone on with by another walk. */
START_TEST(held)
{
	g_autoptr(GKeyFile) state = g_key_file_new();
	struct tally before;

	made_wide = 50000;
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	made.walk.workers = 1;
	made_walk_root(&made);
	walk_start(&made.walk);
	ck_assert(walk_hold(&made.walk, g_get_monotonic_time() + 600 * G_USEC_PER_SEC));
	before = made.tally;
	ck_assert(frontier_keep(made.walk.frontier, state, NULL));
	frontier_kept(made.walk.frontier);
	ck_assert_int_eq(memcmp(&before, &made.tally, sizeof(before)), 0);
	walk_go_on(&made.walk);
	ck_assert(walk_wait(&made.walk, g_get_monotonic_time() + 600 * G_USEC_PER_SEC));
	walk_end(&made.walk);
	ck_assert_uint_eq(made.tally.types[TALLY_FILES], 50002);
	made_walk_end(&made);
}
END_TEST

/* A stop leaves nobody waiting. */
START_TEST(stopped)
{
	made_wide = 50000;
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	gate_limit_requests(made.walk.gate, 10);
	made_walk_root(&made);
	walk_start(&made.walk);
	ck_assert(!walk_wait(&made.walk, g_get_monotonic_time() + G_USEC_PER_SEC / 10));
	walk_stop(&made.walk);
	ck_assert(!walk_hold(&made.walk, g_get_monotonic_time() + G_USEC_PER_SEC) ||
		  !made.walk.spoiled);
	gate_close(made.walk.gate);
	walk_end(&made.walk);
	gate_free(made.walk.gate);
	made.walk.gate = gate_new(&made.fake.base, 0);
	made_walk_end(&made);
}
END_TEST

/* A disk without room ends it with an error. */
START_TEST(full)
{
	made_walk_begin(&made, tree, G_N_ELEMENTS(tree));
	made_walk_root(&made);
	walk_start(&made.walk);
	g_mutex_lock(&made.walk.lock);
	if (!made.walk.error)
		error_set(&made.walk.error, ENOSPC, "no room");
	g_cond_broadcast(&made.walk.changed);
	g_mutex_unlock(&made.walk.lock);
	ck_assert(walk_wait(&made.walk, g_get_monotonic_time() + 600 * G_USEC_PER_SEC));
	walk_end(&made.walk);
	g_clear_error(&made.walk.error);
	made_walk_end(&made);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {all, held, stopped, full, NULL};

	return run_made("walk", tests);
}
