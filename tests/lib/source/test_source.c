/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/source.h"

#include "tests/retriever/backend_support.h"

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

#define HEAD	    "\2\0\0\0"
#define ENTRY(t, p) t "\0" p "\0\377\377\377\377"
#define NAMED(t, p) t "\0" p "\0\351\3\0\0"
#define ADD(d, v)   source_xattrs_add_acl(xattrs, d, (const uint8_t *)(v), sizeof(v) - 1)
#define MINIMAL	    HEAD ENTRY("\1", "\6") ENTRY("\4", "\4") ENTRY("\40", "\0")
#define ORDERED                                                                                    \
	HEAD ENTRY("\1", "\6") NAMED("\2", "\6") ENTRY("\4", "\4") ENTRY("\20", "\6")              \
		ENTRY("\40", "\0")
#define UNORDERED                                                                                  \
	HEAD ENTRY("\40", "\0") ENTRY("\20", "\6") NAMED("\2", "\6") ENTRY("\1", "\6")             \
		NAMED("\4", "\4")

static struct source_xattrs *xattrs;

static void setup(void)
{
	xattrs = source_xattrs_new();
}

static void teardown(void)
{
	source_xattrs_free(xattrs);
}

static void check_only(const char *name, const void *value, size_t len)
{
	const struct source_xattr *xattr = &g_array_index(xattrs->list, struct source_xattr, 0);

	ck_assert_uint_eq(xattrs->list->len, 1);
	ck_assert_str_eq(xattr->name, name);
	ck_assert_uint_eq(xattr->len, len);
	if (len)
		ck_assert_mem_eq(xattr->value, value, len);
}

static void check_nothing(void)
{
	ck_assert_uint_eq(xattrs->list->len, 0);
	ck_assert_uint_eq(xattrs->lost->len, 0);
}

START_TEST(entries_are_put_in_order)
{
	ADD(_i, UNORDERED);
	check_only(_i ? "system.posix_acl_default" : "system.posix_acl_access", ORDERED,
		   sizeof(ORDERED) - 1);
	ck_assert_uint_eq(xattrs->lost->len, 0);
}
END_TEST

START_TEST(what_says_nothing_is_left_out)
{
	ADD(false, MINIMAL);
	ADD(false, HEAD);
	ADD(true, HEAD);
	check_nothing();
	/* A default one of three says more than none. */
	ADD(true, MINIMAL);
	check_only("system.posix_acl_default", MINIMAL, sizeof(MINIMAL) - 1);
}
END_TEST

START_TEST(a_mask_alone_says_something)
{
	ADD(false, HEAD ENTRY("\1", "\6") ENTRY("\4", "\6") ENTRY("\20", "\4") ENTRY("\40", "\0"));
	ck_assert_uint_eq(xattrs->list->len, 1);
}
END_TEST

START_TEST(what_is_none_is_lost)
{
	ADD(_i, HEAD ENTRY("\1", "\6") NAMED("\2", "\6") ENTRY("\4", "\4") ENTRY("\40", "\0"));
	ck_assert_uint_eq(xattrs->list->len, 0);
	ck_assert_uint_eq(xattrs->lost->len, 1);
	ck_assert(g_str_has_prefix(xattrs->lost->pdata[0], _i ? "default ACL: " : "ACL: "));
	ck_assert_int_eq(xattrs->acl_lost, !_i);
}
END_TEST

START_TEST(reasons_are_kept)
{
	source_xattrs_lose_acl(xattrs, true, "a reason");
	ck_assert(!xattrs->acl_lost);
	source_xattrs_lose_acl(xattrs, false, "another");
	ck_assert(xattrs->acl_lost);
	ck_assert_str_eq(xattrs->lost->pdata[0], "default ACL: a reason");
	ck_assert_str_eq(xattrs->lost->pdata[1], "ACL: another");
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
	tcase = tcase_create("acl");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, entries_are_put_in_order, 0, 2);
	tcase_add_test(tcase, what_says_nothing_is_left_out);
	tcase_add_test(tcase, a_mask_alone_says_something);
	tcase_add_loop_test(tcase, what_is_none_is_lost, 0, 2);
	tcase_add_test(tcase, reasons_are_kept);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
