/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and closing, in any state. */
#include "tests/retriever/core_hook.h"

#include "retriever/objects/errors.h"

#define ALL FAULT_ANY_OP

static struct core core;

static void make_source(void)
{
	core_make(&core);
	core_source_file(&core, "f", 200 * KIB, 1);
	core_source_file(&core, "g", 200 * KIB, 2);
	core_source_file(&core, "d/x", 100, 3);
	core_source_file(&core, "e/x", 100, 4);
}

/* Everything there can be under way while the old server is stuck: it ends at once, tells nobody of
 * an error, and everything is still to be had afterwards. */
START_TEST(closes_with_requests_in_flight)
{
	struct migrate_waiter *w[8];
	struct migrate_stub stub;
	unsigned rule;
	uint64_t id, id2;
	int f, g, d, e, root;

	make_source();
	core_start(&core);
	root = core_root(&core);
	f = core_find(&core, "f", O_RDWR);
	g = core_find(&core, "g", O_RDWR);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	e = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	rule = backend_fault_add(core.fault,
				 &(struct fault_rule){.ops = ALL, .action = FAULT_STALL});
	w[0] = core_ask_range(&core, f, 0, UINT64_MAX, 0);
	w[1] = core_ask_range(&core, f, 0, UINT64_MAX, MIGRATE_BACKGROUND);
	w[2] = core_ask_fill(&core, d, 0);
	w[3] = core_ask_fill(&core, d, MIGRATE_BACKGROUND | MIGRATE_DATA);
	w[4] = CORE_WAIT(waiter,
			 migrate_fetch_name(core.volume, e, "x", 0, migrate_waiter_done, waiter));
	w[5] = core_ask_begin(&core, g, -1, MIGRATE_WRITE, 0, 1, &id);
	ck_assert_int_eq(core_wait(w[5]), 0);
	w[5] = core_ask_begin(&core, g, -1, MIGRATE_TRUNCATE, 0, 0, &id2);
	w[6] = core_ask_range(&core, g, 0, UINT64_MAX, 0);
	ck_assert(backend_fault_wait(core.fault, rule, 4));
	core_close(&core);
	core_open(&core);
	core_run(&core);
	ck_assert_int_eq(core_wait(w[0]), 0); /* asked again */
	ck_assert_int_eq(core_wait(w[1]), 0);
	ck_assert_int_eq(core_wait(w[2]), 0);
	ck_assert_int_eq(core_wait(w[3]), 0);
	ck_assert_int_eq(core_wait(w[4]), 0);
	ck_assert_int_eq(core_wait(w[5]), -ECONNRESET);
	ck_assert_int_eq(core_wait(w[6]), 0);
	core_expect(f, 0, 200 * KIB, 1);
	core_expect(g, 0, 200 * KIB, 2);
	ck_assert_int_eq(migrate_stub_load(f, &stub), 0);
	ck_assert_int_eq(stub.error, 0);
	migrate_stub_clear(&stub);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(root);
	close(f);
	close(g);
	close(d);
	core_free_with(&core, e);
}
END_TEST

/* Replies that wait for a bracket, and an object that is looked for. */
START_TEST(closes_with_deferred_fills_and_searches)
{
	struct migrate_waiter *w[2];
	uint64_t id;
	int f, g;

	make_source();
	core_start(&core);
	f = core_find(&core, "f", O_RDWR);
	g = core_find(&core, "g", O_RDWR);
	ck_assert_int_eq(core_begin(&core, f, -1, MIGRATE_WRITE, 0, 1, &id), 0);
	w[0] = core_ask_range(&core, f, 0, UINT64_MAX, 0);
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .skip = 1,
							   .times = 1});
	backend_fault_add(core.fault,
			  &(struct fault_rule){.ops = 1u << BACKEND_LOOKUP, .action = FAULT_STALL});
	w[1] = core_ask_range(&core, g, 0, 1000, 0);
	core_close(&core);
	core_open(&core);
	core_run(&core);
	ck_assert_int_eq(core_wait(w[0]), 0);
	ck_assert_int_eq(core_wait(w[1]), 0);
	core_expect(f, 0, 200 * KIB, 1);
	core_expect(g, 0, 1000, 2);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	close(f);
	core_free_with(&core, g);
}
END_TEST

/* Busy from all sides, again and again. */
START_TEST(closes_at_any_moment)
{
	make_source();
	for (unsigned i = 0; i < 40; i++) {
		g_autofree char *name = g_strdup_printf("many/f%u", i);

		core_source_file(&core, name, 3000 * i, i);
	}
	core_start(&core);
	for (unsigned i = 0; i < 15; i++) {
		struct migrate_waiter *w[3];
		gint64 until;
		int root = core_root(&core),
		    many = core_find(&core, "many", O_RDONLY | O_DIRECTORY);

		w[0] = core_ask_fill(&core, many, MIGRATE_DATA | MIGRATE_BACKGROUND);
		w[1] = core_ask_fill(&core, root, 0);
		w[2] = CORE_WAIT(waiter, migrate_finish_directory(core.volume, many,
								  migrate_waiter_done, waiter));
		until = g_get_monotonic_time() + i * 500; /* any moment is right */
		while (g_get_monotonic_time() < until)
			sched_yield();
		core_restart(&core);
		ck_assert_int_eq(core_wait(w[0]), 0);
		ck_assert_int_eq(core_wait(w[1]), 0);
		core_wait(w[2]);
		close(root);
		close(many);
	}
	for (unsigned i = 0; i < 40; i++) {
		g_autofree char *name = g_strdup_printf("many/f%u", i);
		int fd = core_find(&core, name, O_RDONLY);

		ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
		core_expect(fd, 0, 3000 * i, i);
		close(fd);
	}
	core_free(&core);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
	g_autofree char *error = NULL;

	make_source();
	g_free(core.source);
	core.source = g_strconcat(core.dir, "/nothing", NULL);
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(strstr(error, "nothing"));
	g_free(error);
	g_free(core.root);
	core.root = g_strconcat(core.dir, "/nowhere", NULL);
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(strstr(error, "nowhere"));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("retriever", 100);

	tcase_add_test(tcase, closes_with_requests_in_flight);
	tcase_add_test(tcase, closes_with_deferred_fills_and_searches);
	tcase_add_test(tcase, closes_at_any_moment);
	tcase_add_test(tcase, what_cannot_be_opened);
	return run_tcase(tcase);
}
