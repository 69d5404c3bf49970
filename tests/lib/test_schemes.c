/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/schemes.h"

#include "lib/source/file/file_source.h"
#include "lib/source/nfs/nfs.h"
#include "lib/source/smb/smb.h"
#include "tests/retriever/backend_support.h"

START_TEST(schemes_are_found)
{
	GError *error = NULL;

	ck_assert_ptr_eq(scheme_find("nfs://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(scheme_find("NFS://host/path", NULL), &backend_nfs_ops);
	ck_assert_ptr_eq(scheme_find("smb://user@host/share", NULL), &backend_smb_ops);
	ck_assert_ptr_eq(scheme_find("file:///path", NULL), &backend_file_ops);
	ck_assert_ptr_null(scheme_find("ftp://host/path", &error));
	ck_assert(g_error_matches(error, ERRNO_ERROR, EPROTONOSUPPORT));
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

/* What cannot be opened says so, and so does an acl-source. */
START_TEST(what_is_not_there)
{
	struct volume_config config = {
		.source = (char *)"file:///not/there", .connections = 1, .demand_connections = 1};
	struct source_object root = {0};
	struct source_attr attr;
	GError *error = NULL;
	struct backend *backend;

	ck_assert_ptr_null(scheme_open(&config, &root, &attr, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "/not/there"));
	g_clear_error(&error);
	config.source = (char *)"file:///";
	backend = scheme_open(&config, &root, &attr, &error);
	ck_assert_ptr_nonnull(backend);
	ck_assert(S_ISDIR(attr.mode));
	source_object_clear(&root);
	backend->ops->close(backend);
	config.acl_source = (char *)"ftp://x";
	ck_assert_ptr_null(scheme_open(&config, &root, &attr, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "ftp://x"));
	g_clear_error(&error);
	source_object_clear(&root);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, schemes_are_found);
	tcase_add_test(tcase, what_is_not_there);
	return run_tcase(tcase);
}
