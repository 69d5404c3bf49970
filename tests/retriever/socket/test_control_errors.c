/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include <sys/xattr.h>

#include "retriever/objects/errors.h"

static struct core core;

static void setup(void)
{
	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_start(&core);
}

static void teardown(void)
{
	core_free(&core);
}

START_TEST(errors_come_in_pages)
{
	int root = core_root(&core);

	core_expect_answer(&core, "errors 0", "total=0\n");
	for (int i = 0; i < 101; i++) {
		g_autofree char *name = g_strdup_printf("name-%d", i);

		errors_add_name(core.retriever->errors, root, name, -EACCES, QM_LIST_FORBIDDEN,
				NULL);
	}
	core_expect_answer(&core, "errors 0", "next=100\n");
	core_expect_answer(&core, "errors 0", "errno=13\n");
	core_expect_answer(&core, "errors 100", "code=QM1302\n");
	core_expect_answer(&core, "errors 100", "next=-1\n");
	core_expect_answer(&core, "errors 1000", "next=-1\n");
	errors_add_name(core.retriever->errors, root, "other", -EIO, QM_LIST_FAILED, NULL);
	core_expect_answer(&core, "errors 0\nreason could not list", "[error 101]");
	core_expect_answer(&core, "errors 0\nreason could not list", "next=-1\n");
	core_expect_answer(&core, "errors 0\ncode QM1304", "[error 101]");
	core_expect_answer(&core, "errors 0\ncode QM1304", "next=-1\n");
	core_expect_answer(&core, "status", "[codes]\nQM1302=101\nQM1304=1\n");
	core_expect_answer(&core, "retry new\ncode QM9999", "-22 ");
	core_expect_answer(&core, "errors 0\nbelow /nowhere", "0 [errors]\n");
	core_expect_answer(&core, "errors summary 0", "count=101\n");
	core_expect_answer(&core, "errors summary 0", "count=1\n");
	core_expect_answer(&core, "errors summary 0", "next=-1\n");
	close(root);
}
END_TEST

/* What clients have removed, or has become whole, is not listed, whatever has its place in the list
 * then. */
START_TEST(errors_of_what_is_gone)
{
	int root = core_root(&core);

	for (int i = 0; i < 5; i++) {
		g_autofree char *name = g_strdup_printf("file-%d", i);
		int fd = openat(root, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		ck_assert_int_ge(fd, 0);
		errors_add_fd(core.retriever->errors, fd, -EACCES, QM_LIST_FORBIDDEN);
		if (i == 2) /* unfinished, in a way */
			ck_assert_int_eq(fsetxattr(fd, MIGRATE_XATTR, "x", 1, 0), 0);
		else if (i != 4)
			ck_assert_int_eq(unlinkat(root, name, 0), 0);
		if (i != 3) /* open and without a name it is gone, too */
			close(fd);
	}
	core_expect_answer(&core, "errors 0", "total=1\n");
	core_expect_answer(&core, "errors 0", "/file-2\n");
	core_expect_answer(&core, "status", "errors=1\n");
	close(root);
}
END_TEST

/* What failed with a name, when its directory has all. */
START_TEST(errors_of_names_that_are_here)
{
	int root = core_root(&core);

	errors_add_name(core.retriever->errors, root, "f", -EACCES, QM_LIST_FORBIDDEN, NULL);
	core_expect_answer(&core, "errors 0", "total=1\n");
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	errors_add_name(core.retriever->errors, root, "f", -EACCES, QM_LIST_FORBIDDEN, NULL);
	errors_add_fd(core.retriever->errors, root, -EACCES, QM_LIST_FORBIDDEN);
	core_expect_answer(&core, "errors 0", "total=1\n");
	core_expect_answer(&core, "errors 0", "path=/");
	close(root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("control_errors", 30);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, errors_come_in_pages);
	tcase_add_test(tcase, errors_of_what_is_gone);
	tcase_add_test(tcase, errors_of_names_that_are_here);
	return run_tcase(tcase);
}
