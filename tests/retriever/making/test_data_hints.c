/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include "retriever/making/data_hints.h"

START_TEST(once)
{
	struct object *d, *e;
	int fds[2];

	core_make(&core);
	core_source_file(&core, "d/f", 1, 1);
	core_source_file(&core, "e/f", 1, 1);
	core_start(&core);
	fds[0] = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	fds[1] = core_find(&core, "e", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(object_get(core.retriever, fds[0], &d), 0);
	ck_assert_int_eq(object_get(core.retriever, fds[1], &e), 0);
	ck_assert(!data_hints_take(d));
	data_hints_note(d, true);
	ck_assert(!data_hints_take(e));
	ck_assert(data_hints_take(d));
	ck_assert(!data_hints_take(d));
	data_hints_note(d, true);
	data_hints_note(d, false);
	ck_assert(!data_hints_take(d));
	object_unref(d);
	object_unref(e);
	close(fds[0]);
	close(fds[1]);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("brought", 60);

	tcase_add_test(tcase, once);
	return run_tcase(tcase);
}
