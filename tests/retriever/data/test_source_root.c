/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/errors.h"

static struct core core;

/* Of the root, and of the file: as of a tree that is not exported (yet). */
static int start(unsigned times)
{
	int fd = core_with_file(&core, 10000, O_RDONLY);

	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_READ,
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .times = 1});
	backend_fault_add(core.fault, &(struct fault_rule){.ops = 1u << BACKEND_GETATTR,
							   .action = FAULT_ERROR,
							   .status = -ESTALE,
							   .times = times});
	return fd;
}

START_TEST(is_asked_for_again)
{
	int fd = start(1);

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), 0);
	core_expect(fd, 0, 10000, 1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* A close does not wait for it, and nothing has failed. */
START_TEST(i11_a_close_while_it_is_waited_for)
{
	struct migrate_waiter *w;
	int fd = start(1);

	w = core_ask_range(&core, fd, 0, UINT64_MAX, 0);
	while (backend_fault_submitted(core.fault, 1u << BACKEND_GETATTR) == 0)
		sched_yield();
	core_restart(&core);
	ck_assert_int_eq(core_wait(w), 0);
	core_expect(fd, 0, 10000, 1);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	core_free_with(&core, fd);
}
END_TEST

/* One that is known and not known, for ever: an error. */
START_TEST(i11_in_vain)
{
	int fd = start(0);

	ck_assert_int_eq(core_range(&core, fd, 0, UINT64_MAX), -ESTALE);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	core_free_with(&core, fd);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("source_root", 60);

	tcase_add_test(tcase, is_asked_for_again);
	tcase_add_test(tcase, i11_a_close_while_it_is_waited_for);
	tcase_add_test(tcase, i11_in_vain);
	return run_tcase(tcase);
}
