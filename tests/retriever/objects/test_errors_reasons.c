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
	a = errors_reasons_use(&reasons, "one", -EIO, QM_GONE);
	b = errors_reasons_use(&reasons, "one", -EPERM, QM_GONE);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "one", -EIO, QM_GONE), a);
	ck_assert_uint_eq(errors_reasons_at(&reasons, a)->count, 2);
	errors_reasons_leave(&reasons, a);
	errors_reasons_leave(&reasons, a);
	ck_assert_uint_eq(errors_reasons_at(&reasons, a)->count, 0);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "another", -EIO, QM_GONE),
			  a); /* is free again */
	ck_assert_str_eq(errors_reasons_at(&reasons, a)->text, "another");
	ck_assert_ptr_null(errors_reasons_at(&reasons, b + 1));
	ck_assert_uint_ne(errors_reasons_use(&reasons, "another", -EIO, QM_UNCODED), a);
	errors_reasons_clear(&reasons);
}
END_TEST

/* As many as an old server can think of. */
START_TEST(so_many_and_no_more)
{
	struct errors_reasons reasons;
	guint other;

	errors_reasons_init(&reasons);
	for (unsigned i = 0; i < ERRORS_REASONS_MAX + 10; i++) {
		g_autofree char *text = g_strdup_printf("%u more", i);

		ck_assert_uint_eq(ERRORS_REASON_OTHER(
					  errors_reasons_use(&reasons, text, -EIO, QM_NAMES_MORE)),
				  i >= ERRORS_REASONS_MAX - ERROR_KINDS);
	}
	other = errors_reasons_use(&reasons, "the last", -EIO, QM_NAMES_MORE);
	ck_assert_int_eq(errors_reasons_at(&reasons, other)->code,
			 QM_NAMES_MORE); /* not of others */
	ck_assert_uint_eq(errors_reasons_at(&reasons, other)->count, 11 + ERROR_KINDS);
	errors_reasons_leave(&reasons, other);
	ck_assert_uint_eq(errors_reasons_at(&reasons, other)->count, 10 + ERROR_KINDS);
	errors_reasons_leave(&reasons, ERROR_KINDS + 77);
	ck_assert_uint_eq(errors_reasons_use(&reasons, "yet another", -EIO, QM_GONE),
			  ERROR_KINDS + 77);
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
