/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "door/notice.h"

#include "suite.h"

static unsigned done;

static void count(void *arg)
{
	ck_assert_ptr_eq(arg, &done);
	done++;
}

START_TEST(noted_by_all)
{
	struct notice *notice = notice_new(count, &done);

	notice_add(notice);
	notice_noted(notice); /* by one, before the next is asked */
	notice_add(notice);
	notice_noted(notice);
	ck_assert_uint_eq(done, 0);
	notice_noted(notice);
	ck_assert_uint_eq(done, 1);
}
END_TEST

/* Nobody else has to. */
START_TEST(noted_by_its_maker_alone)
{
	notice_noted(notice_new(count, &done));
	ck_assert_uint_eq(done, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("notice");
	TCase *tcase = tcase_create("notice");

	tcase_add_test(tcase, noted_by_all);
	tcase_add_test(tcase, noted_by_its_maker_alone);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
