/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

#include <fcntl.h>

#include "retriever/volume/source_bound.h"

static char *other_tree(void)
{
	char *path = g_strconcat(core.dir, "/another", NULL);

	ck_assert_int_eq(g_mkdir_with_parents(path, 0755), 0);
	return path;
}

/* The line names both; the file is what binds it. */
START_TEST(another_tree_is_refused)
{
	g_autofree char *other = NULL, *file = NULL, *error = NULL;
	char *was;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	core_disconnect(&core);
	core_close(&core);
	other = other_tree();
	was = core.source;
	core.source = other;
	error = core_try_open(&core);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error, was) && strstr(error, "another") && strstr(error, "rm "), "%s",
		      error);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert_int_eq(unlink(file), 0);
	g_free(error);
	error = core_try_open(&core);
	ck_assert_msg(!error, "%s", error);
	core_close(&core);
	core.source = was;
	core_free(&core);
}
END_TEST

/* Where its root is the same object it is the same tree. */
START_TEST(a_new_address_is_the_same_tree)
{
	g_autofree char *file = NULL;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	core_disconnect(&core);
	core_close(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert(g_file_set_contents(file, "file:///elsewhere", -1, NULL));
	core_open(&core);
	core_close(&core);
	ck_assert(g_file_set_contents(file, "file:///elsewhere?acl=no", -1, NULL));
	core_open(&core);
	core_close(&core);
	core_free(&core);
}
END_TEST

START_TEST(what_is_bound_to_another_address)
{
	g_autofree char *file = NULL, *directory = NULL;
	int private;

	core_make(&core);
	core_source_file(&core, "f", 100, 1);
	core_start(&core);
	core_disconnect(&core);
	core_close(&core);
	file = core_path(&core, MIGRATE_PRIVATE_DIR "/" SOURCE_FILE);
	ck_assert(g_file_set_contents(file, "nfs://old/projects?acl=no\n", -1, NULL));
	directory = core_path(&core, MIGRATE_PRIVATE_DIR);
	private = open(directory, O_RDONLY | O_DIRECTORY);
	ck_assert(!source_bound_differs(private, "nfs://old/projects"));
	ck_assert(source_bound_differs(private, "nfs://old/archive"));
	ck_assert_int_eq(unlink(file), 0);
	ck_assert(!source_bound_differs(private, "nfs://old/archive"));
	close(private);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("source_bound", 60);

	tcase_add_test(tcase, another_tree_is_refused);
	tcase_add_test(tcase, a_new_address_is_the_same_tree);
	tcase_add_test(tcase, what_is_bound_to_another_address);
	return run_tcase(tcase);
}
