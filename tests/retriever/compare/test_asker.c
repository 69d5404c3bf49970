/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/asker.h"
#include "tests/retriever/core_copied.h"

static struct core core;
static struct asker asker;

static int look_up(const char *name)
{
	struct asked asked = {.req = {.op = BACKEND_LOOKUP, .name = name}};

	asked.req.object.path = "";
	return asker_call(&asker, &asked);
}

static gpointer ask(gpointer name)
{
	return GINT_TO_POINTER(look_up(name));
}

START_TEST(answers)
{
	core_copied(&core, NULL);
	asker_init(&asker, core.retriever);
	ck_assert_int_eq(look_up("a"), 0);
	ck_assert_int_eq(look_up("z"), -ENOENT);
	ck_assert(!asker_is_stopped(&asker));
	asker_stop(&asker);
	ck_assert_int_eq(look_up("a"), -ECANCELED);
	core_free(&core);
}
END_TEST

/* What waits behind a pause is taken back, and nobody else's. */
START_TEST(is_taken_back)
{
	struct asker other;
	struct asked asked = {.req = {.op = BACKEND_LOOKUP, .name = "a"}};
	GThread *thread;

	core_copied(&core, NULL);
	asker_init(&asker, core.retriever);
	asker_init(&other, core.retriever);
	gate_pause(core.retriever->gate, true);
	thread = g_thread_new("ask", ask, "a");
	asker_stop(&other);
	ck_assert(!asker_is_stopped(&asker));
	asker_stop(&asker);
	ck_assert_int_eq(GPOINTER_TO_INT(g_thread_join(thread)), -ECANCELED);
	ck_assert_int_eq(asker_call(&other, &asked), -ECANCELED);
	gate_pause(core.retriever->gate, false);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("asking", 60);

	tcase_add_test(tcase, answers);
	tcase_add_test(tcase, is_taken_back);
	return run_tcase(tcase);
}
