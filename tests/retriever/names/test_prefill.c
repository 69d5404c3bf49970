/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "retriever/names/fill.h"

static struct core core;

static void filled(void *arg, int status)
{
	sem_post(arg);
}

/* A directory in which a name was asked for is filled behind the client's back. */
START_TEST(a_directory_that_was_looked_at_is_filled)
{
	unsigned lists;
	int fd;

	core_make(&core);
	core.prefills = true;
	core_source_file(&core, "d/a", 10, 1);
	core_source_file(&core, "d/b", 10, 2);
	core_start(&core);
	lists = backend_fault_add(core.fault,
				  &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
						       .priorities = 1u << BACKEND_BACKGROUND,
						       .action = FAULT_STALL});
	fd = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_name_in(&core, fd, "a"), 0);
	/* the root was looked at as well: one is filled at a time */
	ck_assert(backend_fault_wait(core.fault, lists, 1));
	backend_fault_release(core.fault, lists);
	ck_assert(backend_fault_wait(core.fault, lists, 2));
	{
		struct object *object;
		sem_t done;

		sem_init(&done, 0, 0);
		ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
		directory_fill(object, BACKEND_BACKGROUND, false, filled, &done); /* joins it */
		sem_wait(&done);
		object_unref(object);
	}
	ck_assert_int_eq(core_state(fd), MIGRATE_FILLED);
	core_free_with(&core, fd);
}
END_TEST

/* Closed while one is stuck. */
START_TEST(closes_with_a_fill_under_way)
{
	unsigned lists;
	int fd;

	core_make(&core);
	core.prefills = true;
	core_source_file(&core, "d/a", 10, 1);
	core_start(&core);
	lists = backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READDIR,
								   .action = FAULT_STALL});
	fd = core_find(&core, "d/a", O_RDONLY);
	ck_assert(backend_fault_wait(core.fault, lists, 1));
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("prefill", 60);

	tcase_add_test(tcase, a_directory_that_was_looked_at_is_filled);
	tcase_add_test(tcase, closes_with_a_fill_under_way);
	return run_tcase(tcase);
}
