/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nfs4_nt.h"

#include "lib/config/parse.h"
#include "tests/retriever/nfs4_acl_support.h"
#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

static uint32_t add_one(void *arg, bool group, uint32_t id)
{
	return id + 1 + group;
}

/* dacl: as nt_text() takes it; of the owner 5 and the group 6. */
static void expect_of(uint32_t uid, uint32_t gid, const char *nfs4, const char *owner,
		      const char *group, const char *dacl)
{
	struct source_nfs4_acl *acl = nfs4_acl(nfs4);
	g_autoptr(GByteArray) expected = nt_text(0x8004, owner, group, NULL, dacl);
	g_autofree uint8_t *value = NULL;
	struct nt_descriptor *sd;
	const char *why;
	uint32_t len;

	value = nfs4_nt_encode(acl, uid, gid, add_one, NULL, &len, &why);
	ck_assert_ptr_nonnull(value);
	ck_assert_uint_eq(len, 8 + expected->len);
	ck_assert_mem_eq(value + 8 + 20, expected->data + 20, expected->len - 20);
	sd = nt_decode(value + 8, len - 8, &why);
	nt_free(sd);
	source_nfs4_acl_free(acl);
}

static void expect(const char *nfs4, const char *dacl)
{
	expect_of(5, 6, nfs4, "S-1-22-1-5", "S-1-22-2-6", dacl);
}

START_TEST(entry_by_entry)
{
	expect("A::OWNER@:rwa,D::7:x,A:g:8:r,A::GROUP@:r,A::EVERYONE@:",
	       "0 0 10001f S-1-22-1-5,1 0 20 S-1-22-1-8,0 0 100009 S-1-22-2-10,"
	       "0 0 100009 S-1-22-2-6,0 0 0 " WORLD);
}
END_TEST

START_TEST(who_makes_it_inherits)
{
	expect("A:fd:OWNER@:r,A:fdi:GROUP@:r,A:dn:7:r",
	       "0 0 100009 S-1-22-1-5,0 b 100009 S-1-3-0,0 b 100009 S-1-3-1,"
	       "0 6 100009 S-1-22-1-8");
}
END_TEST

START_TEST(who_is_nobody_here)
{
	expect("A::who@nowhere:r,D::who@nowhere:w,U::EVERYONE@:r", "1 0 12 " WORLD);
}
END_TEST

/* Nobody may change the descriptor then. */
START_TEST(who_owned_it_is_nobody_here)
{
	expect_of(OWNER_NONE, 6, "D::OWNER@:x,A:fd:OWNER@:rwa,A::GROUP@:r", "S-1-0-0", "S-1-22-2-6",
		  "1 0 20 " WORLD ",0 b 10001f S-1-3-0,0 0 100009 S-1-22-2-6");
	expect_of(5, OWNER_NONE, "A::GROUP@:r,A::OWNER@:r", "S-1-22-1-5", "S-1-0-0",
		  "0 0 100009 S-1-22-1-5");
}
END_TEST

START_TEST(too_long)
{
	struct source_nfs4_acl *acl = source_nfs4_acl_new();
	struct source_ace4 ace = {.type = ACE4_ALLOW, .mask = 1, .who = ACE4_WHO_USER_ID};
	const char *why = NULL;
	uint32_t len;

	for (ace.id = 0; ace.id < 3000; ace.id++)
		source_nfs4_acl_add(acl, &ace, "x");
	ck_assert_ptr_null(nfs4_nt_encode(acl, 5, 6, add_one, NULL, &len, &why));
	ck_assert_str_eq(why, "longer than an extended attribute can be");
	source_nfs4_acl_free(acl);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nfs4_nt");

	tcase_add_test(tc, entry_by_entry);
	tcase_add_test(tc, who_makes_it_inherits);
	tcase_add_test(tc, who_is_nobody_here);
	tcase_add_test(tc, who_owned_it_is_nobody_here);
	tcase_add_test(tc, too_long);
	return run_tcase(tc);
}
