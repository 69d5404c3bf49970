/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>

#include "retriever/objects/errors_reasons.h"
#include "tests/suite.h"

START_TEST(each_is_kept_once)
{
	struct errors_reasons reasons;
	guint a, b;

	errors_reasons_init(&reasons);
	a = errors_reasons_use(&reasons, "one", -EIO);
	b = errors_reasons_use(&reasons, "one", -EPERM);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "one", -EIO), a);
	ck_assert_uint_eq(errors_reasons_at(&reasons, a)->count, 2);
	errors_reasons_leave(&reasons, a);
	errors_reasons_leave(&reasons, a);
	ck_assert_uint_eq(errors_reasons_at(&reasons, a)->count, 0);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "another", -EIO), a); /* is free again */
	ck_assert_str_eq(errors_reasons_at(&reasons, a)->text, "another");
	ck_assert_ptr_null(errors_reasons_at(&reasons, b + 1));
	errors_reasons_clear(&reasons);
}
END_TEST

/* As many as an old server can think of. */
START_TEST(so_many_and_no_more)
{
	struct errors_reasons reasons;

	errors_reasons_init(&reasons);
	for (unsigned i = 0; i < ERRORS_REASONS_MAX + 10; i++) {
		g_autofree char *text = g_strdup_printf("%u more", i);

		ck_assert_uint_eq(errors_reasons_use(&reasons, text, -EIO) == ERRORS_REASON_OTHER,
				  i >= ERRORS_REASONS_MAX - 1);
	}
	ck_assert_uint_eq(errors_reasons_at(&reasons, ERRORS_REASON_OTHER)->count, 11);
	errors_reasons_leave(&reasons, ERRORS_REASON_OTHER);
	ck_assert_uint_eq(errors_reasons_at(&reasons, ERRORS_REASON_OTHER)->count, 10);
	errors_reasons_leave(&reasons, 77);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "yet another", -EIO), 77);
	errors_reasons_clear(&reasons);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("errors_reasons");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, each_is_kept_once);
	tcase_add_test(tcase, so_many_and_no_more);
	return run_tcase(tcase);
}
