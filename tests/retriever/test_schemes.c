/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schemes.h"

#include "backend_support.h"
#include "source/file/file_source.h"
#include "source/nfs/nfs.h"
#include "source/smb/smb.h"

START_TEST(schemes_are_found)
{
	GError *error = NULL;

	ck_assert_ptr_eq(scheme_find("nfs://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(scheme_find("NFS://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(scheme_find("smb://user@host/share", NULL), &backend_smb_ops);
	ck_assert_ptr_eq(scheme_find("file:///path", NULL), &backend_file_ops);
	ck_assert_ptr_null(scheme_find("ftp://host/path", &error));
	ck_assert(g_error_matches(error, BACKEND_ERROR, EPROTONOSUPPORT));
	ck_assert_ptr_nonnull(strstr(error->message, "ftp://host/path"));
	ck_assert_ptr_nonnull(strstr(error->message, "nfs://, smb://, file://"));
	g_clear_error(&error);
	ck_assert_ptr_null(scheme_find("/just/a/path", NULL));
	ck_assert_ptr_null(scheme_find("nf://x", NULL));
	ck_assert_ptr_null(scheme_find("nfss://x", NULL));
	ck_assert_ptr_null(scheme_find("://", NULL));
	ck_assert_ptr_null(scheme_find("", NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schemes");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, schemes_are_found);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
