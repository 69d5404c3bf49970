/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/source_nfs4_acl.h"

#include "tests/suite.h"

START_TEST(the_text_is_that_of_the_tools)
{
	static const struct source_ace4 aces[] = {
		{.type = ACE4_ALLOW, .mask = ACE4_READ_DATA | ACE4_WRITE_OWNER | ACE4_SYNCHRONIZE},
		{.type = ACE4_DENY, .flags = 0x4f, .mask = 0x1f01ff},
		{.type = ACE4_ALARM, .flags = 0x30},
		{.type = 9, .mask = UINT32_C(0x80000000)},
	};
	struct source_nfs4_acl *acl = source_nfs4_acl_new();

	for (unsigned i = 0; i < G_N_ELEMENTS(aces); i++)
		source_nfs4_acl_add(acl, &aces[i], i == 1 ? "staff@office" : "EVERYONE@");
	ck_assert_uint_eq(acl->aces->len, G_N_ELEMENTS(aces));
	ck_assert_str_eq(acl->text->str,
			 "A::EVERYONE@:roy,D:fdnig:staff@office:rwaxdDtTnNcCoy,L:SF:EVERYONE@:,"
			 "?::EVERYONE@:");
	source_nfs4_acl_free(acl);
	source_nfs4_acl_free(NULL);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("source_nfs4_acl");

	tcase_add_test(tc, the_text_is_that_of_the_tools);
	return run_tcase(tc);
}
