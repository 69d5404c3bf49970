/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "lib/base/latch.h"
#include "tests/retriever/core_tsan.h"
#include "tests/suite.h"

static struct latch latch;

static gpointer answer(gpointer n)
{
	for (guint i = 0; i < GPOINTER_TO_UINT(n); i++)
		latch_count_down(&latch, -7);
	return NULL;
}

START_TEST(from_other_threads)
{
	GThread *threads[4];

	latch_init(&latch, 4000);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("answer", answer, GUINT_TO_POINTER(1000));
	ck_assert_int_eq(latch_wait(&latch), -7);
	ck_assert_uint_eq(latch.left, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
}
END_TEST

START_TEST(come_already)
{
	latch_init(&latch, 1);
	latch_count_down(&latch, 0);
	ck_assert_int_eq(latch_wait(&latch), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("latch");

	tcase_add_test(tcase, from_other_threads);
	tcase_add_test(tcase, come_already);
	return run_tcase(tcase);
}
