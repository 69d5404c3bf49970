/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "retriever/objects/answers.h"
#include "tests/retriever/core_tsan.h"
#include "tests/suite.h"

static struct answers answers;

static gpointer answer(gpointer n)
{
	for (guint i = 0; i < GPOINTER_TO_UINT(n); i++)
		answers_take(&answers, -7);
	return NULL;
}

START_TEST(from_other_threads)
{
	GThread *threads[4];

	answers_init(&answers, 4000);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("answer", answer, GUINT_TO_POINTER(1000));
	ck_assert_int_eq(answers_wait(&answers), -7);
	ck_assert_uint_eq(answers.left, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
}
END_TEST

START_TEST(come_already)
{
	answers_init(&answers, 1);
	answers_take(&answers, 0);
	ck_assert_int_eq(answers_wait(&answers), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("answers");
	TCase *tcase = tcase_create("answers");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, from_other_threads);
	tcase_add_test(tcase, come_already);
	return run_suite(suite);
}
