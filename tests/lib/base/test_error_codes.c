/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/base/error_codes.h"
#include "tests/suite.h"

/* How many numbers of each hundred were given, from its first on: none is taken away or given
 * again. A new failure makes its own count larger. */
static const struct {
	int hundred, given;
} hundreds[] = {{10, 18}, {11, 6}, {12, 6}, {13, 13}, {14, 7}, {15, 13}, {16, 12}, {19, 3}};

START_TEST(numbers_are_for_ever)
{
	int place = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(hundreds); i++) {
		for (int k = 1; k <= hundreds[i].given; k++) {
			ck_assert_int_lt(place, ERROR_KINDS);
			ck_assert_int_eq(error_kinds[place++].code, 100 * hundreds[i].hundred + k);
		}
	}
	ck_assert_int_eq(place, ERROR_KINDS);
	/* what scripts and papers know */
	ck_assert_int_eq(QM_NAME_IMPOSSIBLE, 1001);
	ck_assert_int_eq(QM_RIGHTS_REFUSED, 1101);
	ck_assert_int_eq(QM_READ_FORBIDDEN, 1201);
	ck_assert_int_eq(QM_LATER, 1301);
	ck_assert_int_eq(QM_CHANGED, 1401);
	ck_assert_int_eq(QM_IMMUTABLE, 1501);
	ck_assert_int_eq(QM_NO_SPACE, 1601);
}
END_TEST

/* One line each, a cause and a remedy that can stand in a sentence, and no two alike: an entry that
 * an earlier release listed is known by its sentence. */
START_TEST(each_says_why_and_what_to_do)
{
	for (int i = 0; i < ERROR_KINDS; i++) {
		const struct error_kind *kind = &error_kinds[i];
		g_autofree char *name = g_strdup_printf("QM%d", (int)kind->code);
		g_autofree char *sentence = g_strdup_printf("%s: %s", kind->cause, kind->remedy);

		ck_assert_str_eq(kind->name, name);
		ck_assert_str_eq(kind->sentence, sentence);
		ck_assert_uint_gt(strlen(kind->cause), 10);
		ck_assert_uint_ge(strlen(kind->remedy), 5);
		ck_assert(!strpbrk(kind->sentence, "\n\t"));
		ck_assert(!g_str_has_suffix(kind->cause, ".") &&
			  !g_str_has_suffix(kind->remedy, "."));
		for (int k = 0; k < i; k++)
			ck_assert_str_ne(kind->sentence, error_kinds[k].sentence);
	}
}
END_TEST

START_TEST(found)
{
	ck_assert_ptr_eq(error_kind(QM_LIST_UNREAD), &error_kinds[ERROR_KINDS - 1]);
	ck_assert_int_eq(error_kind(QM_NONE)->code, QM_UNCODED);
	ck_assert_int_eq(error_kind((enum error_code)1999)->code, QM_UNCODED);
	ck_assert_int_eq(error_kind_named("QM1403")->code, QM_GONE);
	ck_assert_ptr_null(error_kind_named("1403"));
	ck_assert_ptr_null(error_kind_named(""));
	ck_assert_int_eq(error_kind_behind("a [text] [QM1403]")->code, QM_GONE);
	ck_assert_ptr_null(error_kind_behind("a text"));
	ck_assert_ptr_null(error_kind_behind("a text [QM1999]"));
	ck_assert_ptr_null(error_kind_behind("a text [QM1403] and more"));
	ck_assert_ptr_null(error_kind_behind("]"));
	ck_assert_ptr_null(error_kind_behind("a text []"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("error_codes");

	tcase_add_test(tcase, numbers_are_for_ever);
	tcase_add_test(tcase, each_says_why_and_what_to_do);
	tcase_add_test(tcase, found);
	return run_tcase(tcase);
}
