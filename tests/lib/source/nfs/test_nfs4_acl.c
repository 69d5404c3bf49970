/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NFSv4 ACLs on the wire. */
#include "lib/source/nfs/nfs4_acl.h"

#include "tests/suite.h"

static uint8_t room[65536];
static struct xdr_out out;

static void setup(void)
{
	out = (struct xdr_out){.p = room, .end = room + sizeof(room)};
}

static void put(uint32_t type, uint32_t flags, uint32_t mask, const char *who)
{
	xdr_put_u32(&out, type);
	xdr_put_u32(&out, flags);
	xdr_put_u32(&out, mask);
	xdr_put_bytes(&out, who, (uint32_t)strlen(who));
}

static struct source_xattrs *get(void)
{
	struct xdr_in in = {.p = room, .end = out.p}, list = in;
	struct source_xattrs *xattrs = source_xattrs_new();

	ck_assert(nfs4_acl_skip(&in));
	ck_assert(in.p == in.end);
	ck_assert_int_eq(nfs4_acl_get(NULL, true, list, xattrs), 0);
	return xattrs;
}

START_TEST(everything)
{
	static const struct source_ace4 expected[] = {
		{ACE4_ALLOW, 0, 0x1601bf, ACE4_WHO_OWNER, UINT32_MAX},
		{ACE4_DENY, ACE4_IDENTIFIER_GROUP, 2, ACE4_WHO_GROUP, UINT32_MAX},
		{ACE4_ALLOW, 3, 1, ACE4_WHO_USER_ID, 1000},
		{ACE4_ALLOW, ACE4_IDENTIFIER_GROUP, 1, ACE4_WHO_GROUP_ID, 1000},
		{ACE4_ALLOW, 0, 1, ACE4_WHO_UNKNOWN, UINT32_MAX},
		{ACE4_DENY, 0, 1, ACE4_WHO_UNKNOWN, UINT32_MAX},
		{ACE4_AUDIT, 0x10, 1, ACE4_WHO_EVERYONE, UINT32_MAX},
	};
	struct source_xattrs *xattrs;

	xdr_put_u32(&out, 7);
	put(0, 0, 0x1601bf, "OWNER@");
	put(1, 0x40, 2, "GROUP@");
	put(0, 3, 1, "1000");
	put(0, 0x40, 1, "1000");
	put(0, 0, 1, "anna@nowhere");
	put(1, 0, 1, "NETWORK@");
	put(2, 0x10, 1, "EVERYONE@");
	xattrs = get();
	ck_assert_uint_eq(xattrs->nfs4_acl->aces->len, 7);
	for (unsigned i = 0; i < 7; i++) {
		const struct source_ace4 *ace =
			&g_array_index(xattrs->nfs4_acl->aces, struct source_ace4, i);

		ck_assert_uint_eq(ace->type, expected[i].type);
		ck_assert_uint_eq(ace->flags, expected[i].flags);
		ck_assert_uint_eq(ace->mask, expected[i].mask);
		ck_assert_uint_eq(ace->who, expected[i].who);
		ck_assert_uint_eq(ace->id, expected[i].id);
	}
	ck_assert_str_eq(xattrs->nfs4_acl->text->str,
			 "A::OWNER@:rwaxtTnNcCy,D:g:GROUP@:w,A:fd:1000:r,A:g:1000:r,"
			 "A::anna@nowhere:r,D::NETWORK@:r,U:S:EVERYONE@:r");
	ck_assert(!xattrs->acl_lost);
	source_xattrs_free(xattrs);
}
END_TEST

/* What only looks like somebody may be anybody: it is granted nothing, and denies all. */
START_TEST(strange_names)
{
	g_autofree char *long_name = g_strnfill(513, '7');
	const char *const names[] = {"",	   "@",	       "OWNER@@there", "GROUP@there",
				     "owner@",	   "EVERYONE", "EVERYONE@ ",   " EVERYONE@",
				     "everyone@",  "OWNER@\n", "-1",	       "+7",
				     " 7",	   "7 ",       "0x7",	       "4294967295",
				     "4294967303", "7@there",  "\xff\xfe@",    long_name};
	struct source_xattrs *xattrs;

	xdr_put_u32(&out, 2 * G_N_ELEMENTS(names) + 1);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		for (unsigned flags = 0; flags <= ACE4_IDENTIFIER_GROUP;
		     flags += ACE4_IDENTIFIER_GROUP)
			put(0, flags, 1, names[i]);
	for (unsigned i = 0; i < 3; i++)
		xdr_put_u32(&out, 0);
	xdr_put_bytes(&out, "OWNER@", 7);
	xattrs = get();
	for (guint i = 0; i < xattrs->nfs4_acl->aces->len; i++)
		ck_assert_msg(g_array_index(xattrs->nfs4_acl->aces, struct source_ace4, i).who ==
				      ACE4_WHO_UNKNOWN,
			      "entry %u", i);
	ck_assert_uint_eq(xattrs->nfs4_acl->aces->len, 2 * G_N_ELEMENTS(names) + 1);
	source_xattrs_free(xattrs);
}
END_TEST

START_TEST(none_says_nothing)
{
	struct source_xattrs *xattrs;

	xdr_put_u32(&out, 0);
	xattrs = get();
	ck_assert_ptr_null(xattrs->nfs4_acl);
	ck_assert(!xattrs->acl_lost);
	source_xattrs_free(xattrs);
}
END_TEST

START_TEST(too_long_is_lost)
{
	struct source_xattrs *xattrs;

	xdr_put_u32(&out, NFS4_ACES_MAX + 1);
	for (unsigned i = 0; i <= NFS4_ACES_MAX; i++)
		put(0, 0, 1, "7");
	xattrs = get();
	ck_assert_ptr_null(xattrs->nfs4_acl);
	ck_assert(xattrs->acl_lost);
	source_xattrs_free(xattrs);
}
END_TEST

START_TEST(part_of_one_is_none)
{
	struct xdr_in in;

	xdr_put_u32(&out, 2);
	put(0, 0, 1, "OWNER@");
	put(0, 0, 1, "1000");
	for (const uint8_t *end = room; end < out.p; end++) {
		in = (struct xdr_in){.p = room, .end = end};
		ck_assert(!nfs4_acl_skip(&in));
	}
	out.p = room;
	xdr_put_u32(&out, UINT32_MAX);
	in = (struct xdr_in){.p = room, .end = room + sizeof(room)};
	ck_assert(!nfs4_acl_skip(&in));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nfs4_acl");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, everything);
	tcase_add_test(tc, strange_names);
	tcase_add_test(tc, none_says_nothing);
	tcase_add_test(tc, too_long_is_lost);
	tcase_add_test(tc, part_of_one_is_none);
	return run_tcase(tc);
}
