/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/base/advice.h"
#include "tests/suite.h"

START_TEST(ends_of_messages)
{
	ck_assert_ptr_nonnull(strstr(advice_for(ENOSPC), "room"));
	ck_assert_str_eq(advice_for(-ENOSPC), advice_for(ENOSPC));
	ck_assert_ptr_nonnull(strstr(advice_for(-EROFS), "for writing"));
	ck_assert_str_eq(advice_for(EBADMSG), "");
	ck_assert_str_eq(advice_for(0), "");
	for (int error = 1; error < 134; error++)
		ck_assert(!*advice_for(error) || g_str_has_prefix(advice_for(error), "; "));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, ends_of_messages);
	return run_tcase(tcase);
}
