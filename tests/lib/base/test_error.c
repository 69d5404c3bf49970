/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>

#include "lib/base/error.h"
#include "tests/suite.h"

START_TEST(code_and_text)
{
	g_autoptr(GError) error = NULL;

	ck_assert(!error_set(&error, ENOENT, "%s: none of %d", "f", 2));
	ck_assert(g_error_matches(error, ERRNO_ERROR, ENOENT));
	ck_assert_str_eq(error->message, "f: none of 2");
	ck_assert(!error_set(NULL, EIO, "nobody asks"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("error");

	tcase_add_test(tcase, code_and_text);
	return run_tcase(tcase);
}
