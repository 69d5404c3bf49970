/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conformance suite's old server goes and comes: by OLD_CONTROL, see tests/support/oldserver.
 */
#ifndef TESTS_RETRIEVER_CONFORMANCE_SERVER_H
#define TESTS_RETRIEVER_CONFORMANCE_SERVER_H

#include "tests/retriever/conformance_many.h"

static void control(const char *what)
{
	g_autofree char *command = g_strdup_printf("%s %s", getenv("OLD_CONTROL"), what);

	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_restart_loses_nothing)
{
	struct many *many = start_many();

	many_wait(many, 10);
	control("restart");
	many_wait(many, MANY);
	check_many(many, MANY);

	control("restart");
	many = start_many();
	many_wait(many, MANY);
	check_many(many, MANY);
}
END_TEST

START_TEST(a_server_may_be_away)
{
	struct many *many;

	find("blocks");
	control("pause");
	many = g_new0(struct many, 1);
	gate_init(&many->gate);
	many->reqs[0] = (struct backend_request){
		.op = BACKEND_READ, .object = by_path("blocks"), .count = BLOCK};
	many->reqs[0].done = block_done;
	many->reqs[0].user = many;
	if (!over_smb())
		backend_nfs_set_stall(backend, 300);
	backend->ops->submit(backend, &many->reqs[0]);
	while (backend->ops->away(backend) < 2)
		g_usleep(20000);
	ck_assert_uint_eq(gate_count(&many->gate), 0);
	control("continue");
	many_wait(many, 1);
	ck_assert_uint_eq(many->right, 1);
	ck_assert_uint_eq(backend->ops->away(backend), 0);
	g_free(many);
}
END_TEST

START_TEST(closing_is_prompt_while_the_server_is_away)
{
	struct many *many = start_many();

	control("stop");
	backend->ops->close(g_steal_pointer(&backend));
	check_many(many, 0);
	control("start");
}
END_TEST

static inline void add_server_tests(TCase *tcase)
{
	tcase_add_test(tcase, a_restart_loses_nothing);
	tcase_add_test(tcase, a_server_may_be_away);
	tcase_add_test(tcase, closing_is_prompt_while_the_server_is_away);
}

#endif
