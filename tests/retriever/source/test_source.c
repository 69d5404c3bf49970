/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source/source.h"

#include "backend_support.h"

START_TEST(names_are_checked)
{
	static const struct {
		const char *name;
		size_t len;
		bool ok;
	} names[] = {
		{"a", 1, true},	    {".a", 2, true}, {"..a", 3, true},	 {"...", 3, true},
		{"\xff", 1, true},  {"", 0, false},  {".", 1, false},	 {"..", 2, false},
		{"a/b", 3, false},  {"/", 1, false}, {"a\0b", 3, false}, {"\0", 1, false},
		{"a b\n", 4, true},
	};
	struct backend_batch *batch = backend_batch_new();
	struct source_entry entry = {.attr.fileid = 5};
	char name[256];
	unsigned n = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		ck_assert_int_eq(backend_batch_add(batch, names[i].name, names[i].len, &entry),
				 names[i].ok);
		n += names[i].ok;
	}
	memset(name, 'x', sizeof(name));
	ck_assert(backend_batch_add(batch, name, 255, &entry));
	ck_assert(!backend_batch_add(batch, name, 256, &entry));
	ck_assert_uint_eq(batch->entries->len, n + 1);
	ck_assert_uint_eq(batch->rejected, G_N_ELEMENTS(names) - n + 1);
	ck_assert_uint_eq(batch->refused->len, batch->rejected);
	ck_assert_str_eq(g_array_index(batch->refused, struct source_refusal, 3).name, "a/b");
	for (unsigned i = 0; i < 2 * BATCH_REFUSED_MAX; i++)
		ck_assert(!backend_batch_add(batch, "/", 1, &entry));
	ck_assert_uint_eq(batch->refused->len, BATCH_REFUSED_MAX);
	ck_assert_uint_eq(batch->rejected, G_N_ELEMENTS(names) - n + 1 + 2 * BATCH_REFUSED_MAX);
	/* A copy, terminated. */
	memset(name, 'y', sizeof(name));
	ck_assert_uint_eq(strspn(g_array_index(batch->entries, struct source_entry, n).name, "x"),
			  255);
	ck_assert_str_eq(g_array_index(batch->entries, struct source_entry, 0).name, "a");
	ck_assert_uint_eq(g_array_index(batch->entries, struct source_entry, 0).attr.fileid, 5);
	backend_batch_free(batch);
	backend_batch_free(NULL);
}
END_TEST

START_TEST(paths_are_checked)
{
	ck_assert(source_path_ok(""));
	ck_assert(source_path_ok("a"));
	ck_assert(source_path_ok("/a//b/c/"));
	ck_assert(!source_path_ok("a/../b"));
	ck_assert(!source_path_ok("."));
	ck_assert(!source_path_ok("a/.."));
}
END_TEST

START_TEST(objects_are_copied)
{
	struct source_object from = {.handle_len = 3, .handle = "abc", .path = (char *)"p/q"}, to;

	source_object_copy(&to, &from);
	ck_assert_uint_eq(to.handle_len, 3);
	ck_assert_mem_eq(to.handle, "abc", 3);
	ck_assert_str_eq(to.path, "p/q");
	ck_assert_ptr_ne(to.path, from.path);
	source_object_clear(&to);
	ck_assert_ptr_null(to.path);
	ck_assert_uint_eq(to.handle_len, 0);
}
END_TEST

START_TEST(fileids_differ_across_file_systems)
{
	ck_assert_uint_eq(backend_fileid(42, 7, 7), 42);
	ck_assert_uint_ne(backend_fileid(42, 8, 7), 42);
	ck_assert_uint_ne(backend_fileid(42, 8, 7), backend_fileid(42, 9, 7));
	ck_assert_uint_eq(backend_fileid(42, 8, 7), backend_fileid(42, 8, 7));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, names_are_checked);
	tcase_add_test(tcase, paths_are_checked);
	tcase_add_test(tcase, objects_are_copied);
	tcase_add_test(tcase, fileids_differ_across_file_systems);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
