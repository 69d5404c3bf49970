/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend_acl.h"

#include "backend_support.h"

static struct source_xattrs *xattrs;

static void setup(void)
{
	xattrs = source_xattrs_new();
}

static void teardown(void)
{
	source_xattrs_free(xattrs);
}

#define ADD(is_default, ...)                                                                       \
	do {                                                                                       \
		struct acl_entry entries[] = {__VA_ARGS__};                                        \
                                                                                                   \
		acl_add(xattrs, is_default, entries, G_N_ELEMENTS(entries));                       \
	} while (0)

static const struct source_xattr *only(const char *name)
{
	const struct source_xattr *xattr = &g_array_index(xattrs->list, struct source_xattr, 0);

	ck_assert_uint_eq(xattrs->list->len, 1);
	ck_assert_uint_eq(xattrs->lost->len, 0);
	ck_assert_str_eq(xattr->name, name);
	return xattr;
}

static void check_lost(const char *line)
{
	ck_assert_uint_eq(xattrs->list->len, 0);
	ck_assert_uint_eq(xattrs->lost->len, 1);
	ck_assert_msg(strstr(xattrs->lost->pdata[0], line), "%s", (char *)xattrs->lost->pdata[0]);
	ck_assert_ptr_null(strchr(xattrs->lost->pdata[0], '\n'));
	g_ptr_array_set_size(xattrs->lost, 0);
}

/* As getfattr -e hex shows what setfacl -m u:1001:rw,u:7:r,g:2002:- made of mode 0640. */
static const uint8_t long_acl[] = "\2\0\0\0"
				  "\1\0\6\0\377\377\377\377"
				  "\2\0\4\0\7\0\0\0"
				  "\2\0\6\0\351\3\0\0"
				  "\4\0\4\0\377\377\377\377"
				  "\10\0\0\0\322\7\0\0"
				  "\20\0\6\0\377\377\377\377"
				  "\40\0\0\0\377\377\377\377";

START_TEST(entries_are_put_in_order)
{
	const struct source_xattr *xattr;

	ADD(_i, {32, 0, 9}, {8, 0, 2002}, {2, 6, 1001}, {16, 6, 9}, {1, 6, 9}, {2, 4, 7},
	    {4, 4, 9});
	xattr = only(_i ? "system.posix_acl_default" : "system.posix_acl_access");
	ck_assert_uint_eq(xattr->len, sizeof(long_acl) - 1);
	ck_assert_mem_eq(xattr->value, long_acl, xattr->len);
}
END_TEST

START_TEST(values_come_back_as_they_were)
{
	const struct source_xattr *xattr;
	/* On the heap, to its very end, for the address sanitizer. */
	g_autofree uint8_t *value = g_memdup2(long_acl, sizeof(long_acl) - 1);

	acl_add_value(xattrs, false, value, sizeof(long_acl) - 1);
	xattr = only("system.posix_acl_access");
	ck_assert_uint_eq(xattr->len, sizeof(long_acl) - 1);
	ck_assert_mem_eq(xattr->value, long_acl, xattr->len);
}
END_TEST

START_TEST(values_in_another_format_are_lost)
{
	const size_t len = sizeof(long_acl) - 1;

	for (size_t n = 0; n < len; n++) {
		g_autofree uint8_t *value = g_memdup2(long_acl, n);

		if (n == 4)
			continue;
		acl_add_value(xattrs, true, value, n);
		check_lost("default ACL");
	}
	acl_add_value(xattrs, true, (const uint8_t *)"\3\0\0\0", 4);
	check_lost("default ACL: in a format");
	acl_add_value(xattrs, true, long_acl, 4);
	ck_assert_uint_eq(xattrs->list->len + xattrs->lost->len, 0);
}
END_TEST

START_TEST(what_says_nothing_is_left_out)
{
	ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0});
	acl_add(xattrs, false, NULL, 0);
	acl_add(xattrs, true, NULL, 0);
	ck_assert_uint_eq(xattrs->list->len + xattrs->lost->len, 0);
	/* A default one of three says more than none. */
	ADD(true, {1, 6, 0}, {4, 4, 0}, {32, 0, 0});
	only("system.posix_acl_default");
}
END_TEST

START_TEST(a_mask_alone_says_something)
{
	ADD(false, {1, 6, 0}, {4, 6, 0}, {16, 4, 0}, {32, 0, 0});
	ck_assert_uint_eq(only("system.posix_acl_access")->len, 4 + 4 * 8);
}
END_TEST

START_TEST(impossible_ones_are_lost)
{
	ADD(false, {1, 6, 0});
	check_lost("access ACL: the old server's is not a POSIX ACL: entries missing");
	ADD(false, {4, 6, 0}, {32, 6, 0}, {16, 0, 0}, {2, 0, 5});
	check_lost("entries missing");
	ADD(true, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {2, 7, 5});
	check_lost("default ACL: the old server's is not a POSIX ACL: no mask");
	ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {8, 7, 5});
	check_lost("no mask");
	ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {16, 7, 5}, {2, 1, 5}, {2, 1, 5});
	check_lost("twice");
	ADD(false, {1, 6, 0}, {1, 7, 1}, {4, 4, 0}, {32, 0, 0});
	check_lost("twice");
	ADD(false, {1, 8, 0}, {4, 4, 0}, {32, 0, 0});
	check_lost("unknown permissions");
	ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {16, 7, 5}, {2, 1, UINT32_MAX});
	check_lost("nobody");
	for (uint32_t tag = 0; tag < 70; tag++) {
		if (tag && tag <= 32 && (tag & (tag - 1)) == 0)
			continue;
		ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {tag, 7, 5});
		check_lost("unknown kind");
	}
	ADD(false, {1, 6, 0}, {4, 4, 0}, {32, 0, 0}, {0x10002, 7, 5});
	check_lost("unknown kind");
}
END_TEST

START_TEST(length_has_a_limit)
{
	const size_t most = (65536 - 4) / 8;
	g_autofree struct acl_entry *entries = g_new(struct acl_entry, most + 1);

	for (size_t i = 0; i <= most; i++)
		entries[i] = (struct acl_entry){2, 7, (uint32_t)i};
	for (uint32_t i = 0; i < 4; i++)
		entries[i].tag = (uint32_t[]){1, 4, 16, 32}[i];
	acl_add(xattrs, false, entries, most + 1);
	check_lost("too many");
	acl_add(xattrs, false, entries, most);
	ck_assert_uint_eq(only("system.posix_acl_access")->len, 65532);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend_acl");
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, entries_are_put_in_order, 0, 2);
	tcase_add_test(tcase, values_come_back_as_they_were);
	tcase_add_test(tcase, values_in_another_format_are_lost);
	tcase_add_test(tcase, what_says_nothing_is_left_out);
	tcase_add_test(tcase, a_mask_alone_says_something);
	tcase_add_test(tcase, impossible_ones_are_lost);
	tcase_add_test(tcase, length_has_a_limit);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
