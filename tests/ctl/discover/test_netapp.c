/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/netapp.h"
#include "tests/ctl/discover/files.h"
#include "tests/suite.h"

static struct found found;

static const char instances[] =
	"c1::> vserver export-policy rule show -instance\n"
	"\n"
	"                                    Vserver: vs1\n"
	"                                Policy Name: homes\n"
	"                                 Rule Index: 1\n"
	"                            Access Protocol: any\n"
	"List of Client Match Hostnames, IP Addresses, Netgroups, or Domains: 10.0.0.0/8, .x.org\n"
	"                             RO Access Rule: krb5, sys\n"
	"                             RW Access Rule: never\n"
	"User ID To Which Anonymous Users Are Mapped: 65534\n"
	"                   Superuser Security Types: none\n"
	"\n"
	"                                    Vserver: vs1\n"
	"                                Policy Name: homes\n"
	"                                 Rule Index: 2\n"
	"List of Client Match Hostnames, IP Addresses, Netgroups, or Domains: 0.0.0.0/0\n"
	"                             RO Access Rule: any\n"
	"                             RW Access Rule: any\n"
	"                   Superuser Security Types: any\n"
	"2 entries were displayed.\n"
	"\n"
	"c1::> volume show -fields junction-path,policy\n"
	"vserver volume junction-path policy\n"
	"------- ------ ------------- ------\n"
	"vs1     home   /home         homes\n"
	"vs1     root   /             other\n"
	"vs1     dp     -             other\n"
	"\n"
	"c1::> vserver cifs share show -instance\n"
	"\n"
	"                                      Vserver: vs1\n"
	"                                        Share: SALES\n"
	"                     CIFS Server NetBIOS Name: WINDATA\n"
	"                                         Path: /home/sales\n"
	"                             Share Properties: oplocks\n"
	"                                               browsable\n"
	"                                Share Comment: who sells\n"
	"                                    Share ACL: OFFICE\\sales / Change\n"
	"                                               OFFICE\\bob / Read\n"
	"                                               OFFICE\\eve / No_access\n";

static const struct found_rule *rule(const char *path, unsigned n)
{
	const struct found_export *export = found_export(&found, path);

	ck_assert_uint_lt(n, export->rules->len);
	return export->rules->pdata[n];
}

static bool set(const char *name, const char *wanted)
{
	const GPtrArray *settings = found_share(&found, name)->settings;

	for (unsigned i = 0; i < settings->len; i++)
		if (!strcmp(settings->pdata[i], wanted))
			return true;
	return false;
}

START_TEST(by_instance)
{
	found_init(&found);
	found_rule(found_export(&found, "/home"), "as MOUNT told");
	ck_assert(read_text(netapp_read, instances, &found, NULL));
	ck_assert_uint_eq(found.exports->len, 2);
	ck_assert_str_eq(rule("/home", 0)->clients, "10.0.0.0/8");
	ck_assert_str_eq(rule("/home", 1)->clients, "*.x.org");
	ck_assert_str_eq(rule("/home", 2)->clients, "*");
	ck_assert(rule("/home", 0)->access == RULE_RO && rule("/home", 0)->squash == SQUASH_ROOT);
	ck_assert(rule("/home", 2)->access == RULE_RW && rule("/home", 2)->squash == SQUASH_NONE);
	ck_assert_str_eq(rule("/home", 1)->sec, "krb5, sys");
	ck_assert_int_eq(rule("/home", 1)->anon_uid, 65534);
	/* a policy without rules lets nobody in */
	ck_assert(rule("/", 0)->access == RULE_NONE);
	ck_assert(noted(&found, "export policy, vs1 other,"));
	ck_assert_str_eq(found_share(&found, "SALES")->path, "/home/sales");
	ck_assert_str_eq(found_share(&found, "SALES")->comment, "who sells");
	ck_assert(set("SALES", "valid users = \"OFFICE\\sales\", \"OFFICE\\bob\""));
	ck_assert(set("SALES", "read list = \"OFFICE\\bob\""));
	ck_assert(set("SALES", "write list = \"OFFICE\\sales\""));
	ck_assert(set("SALES", "invalid users = \"OFFICE\\eve\""));
	ck_assert_uint_eq(found.notes->len, 1);
	found_clear(&found);
}
END_TEST

START_TEST(by_table)
{
	found_init(&found);
	ck_assert(read_text(
		netapp_read,
		"             Policy          Rule    Access   Client                RO\n"
		"Vserver      Name            Index   Protocol Match                 Rule\n"
		"------------ --------------- ------  -------- --------------------- ---------\n"
		"vs1          default         1       any      192.0.2.0/24          any\n"
		"vs1          lost            1       any      @group                never\n"
		"\n"
		"Vserver        Share         Path              Properties Comment  ACL\n"
		"-------------- ------------- ----------------- ---------- -------- -----------\n"
		"vs1            data          /data             oplocks    -        Everyone / "
		"Read\n"
		"                                               browsable           Users / odd\" "
		"/ x\n"
		"\n"
		"vserver volume junction-path policy\n"
		"------- ------ ------------- -------\n"
		"vs1     data   /data         default\n"
		"\n"
		"what is this\n"
		"\n"
		"Key: of something else\n",
		&found, NULL));
	ck_assert_str_eq(rule("/data", 0)->clients, "192.0.2.0/24");
	ck_assert(rule("/data", 0)->access == RULE_UNKNOWN);
	ck_assert(set("data", "read only = yes"));
	ck_assert_uint_eq(found_share(&found, "data")->left->len, 1);
	ck_assert(noted(&found, "export policy vs1 lost is not said"));
	ck_assert(noted(&found, "line 16 is not understood: what is this"));
	ck_assert(noted(&found, "line 18 is not understood: no export rule"));
	ck_assert_uint_eq(found.notes->len, 3);
	found_clear(&found);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("netapp");
	TCase *tcase = tcase_create("netapp");

	tcase_add_test(tcase, by_instance);
	tcase_add_test(tcase, by_table);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
