/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "source/source_acl.h"

#include "backend_support.h"

#define HEAD	    "\2\0\0\0"
#define ENTRY(t, p) t "\0" p "\0\377\377\377\377"
#define NAMED(t, p) t "\0" p "\0\351\3\0\0"
#define ADD(d, v)   backend_acl_add(xattrs, d, (const uint8_t *)(v), sizeof(v) - 1)
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
	backend_acl_lose(xattrs, true, "a reason");
	ck_assert(!xattrs->acl_lost);
	backend_acl_lose(xattrs, false, "another");
	ck_assert(xattrs->acl_lost);
	ck_assert_str_eq(xattrs->lost->pdata[0], "default ACL: a reason");
	ck_assert_str_eq(xattrs->lost->pdata[1], "ACL: another");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend_acl");
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, entries_are_put_in_order, 0, 2);
	tcase_add_test(tcase, what_says_nothing_is_left_out);
	tcase_add_test(tcase, a_mask_alone_says_something);
	tcase_add_loop_test(tcase, what_is_none_is_lost, 0, 2);
	tcase_add_test(tcase, reasons_are_kept);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
