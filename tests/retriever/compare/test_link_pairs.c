/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "retriever/compare/link_pairs.h"
#include "tests/suite.h"

START_TEST(one_to_one)
{
	struct link_pairs *linked = link_pairs_new();

	ck_assert(link_pairs_note(linked, 1, 100));
	ck_assert(link_pairs_note(linked, 1, 100));
	ck_assert(link_pairs_note(linked, G_MAXUINT64, 0));
	ck_assert(!link_pairs_note(linked, 1, 101)); /* parted */
	ck_assert(!link_pairs_note(linked, 2, 100)); /* joined */
	ck_assert(!link_pairs_note(linked, 2, 102)); /* which of both is not known */
	ck_assert(link_pairs_note(linked, G_MAXUINT64, 0));
	link_pairs_free(linked);
	link_pairs_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("linked");

	tcase_add_test(tcase, one_to_one);
	return run_tcase(tcase);
}
