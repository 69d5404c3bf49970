/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "retriever/compare/linked.h"
#include "tests/suite.h"

START_TEST(one_to_one)
{
	struct linked *linked = linked_new();

	ck_assert(linked_note(linked, 1, 100));
	ck_assert(linked_note(linked, 1, 100));
	ck_assert(linked_note(linked, G_MAXUINT64, 0));
	ck_assert(!linked_note(linked, 1, 101)); /* parted */
	ck_assert(!linked_note(linked, 2, 100)); /* joined */
	ck_assert(!linked_note(linked, 2, 102)); /* which of both is not known */
	ck_assert(linked_note(linked, G_MAXUINT64, 0));
	linked_free(linked);
	linked_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("linked");
	TCase *tcase = tcase_create("linked");

	tcase_add_test(tcase, one_to_one);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
