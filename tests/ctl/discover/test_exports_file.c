/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/exports_file.h"
#include "tests/ctl/discover/files.h"
#include "tests/suite.h"

static struct inventory found;

static const struct inventory_rule *rule(const char *path, unsigned n)
{
	const struct inventory_export *export = inventory_export(&found, path);

	ck_assert_uint_lt(n, export->rules->len);
	return export->rules->pdata[n];
}

static void is(const char *path, unsigned n, const char *clients, unsigned access, unsigned squash)
{
	const struct inventory_rule *r = rule(path, n);

	ck_assert_str_eq(r->clients, clients);
	ck_assert_uint_eq(r->access, access);
	ck_assert_uint_eq(r->squash, squash);
}

START_TEST(all_that_it_knows)
{
	inventory_init(&found);
	inventory_rule(inventory_export(&found, "/home"), "as MOUNT told");
	ck_assert(read_text(
		exports_file_read,
		"# what is exported\n"
		"/home 10.0.0.0/8(rw,sync,no_subtree_check) @admins(rw,no_root_squash)\t*\n"
		"\n"
		"\"/with blank\" -rw,sec=krb5:krb5p host(ro) \\\n"
		"    other(all_squash,no_root_squash,anonuid=99,anongid=98) # why\n"
		"/esc\\040aped (rw)\n"
		"/pub\n"
		"/old gss/krb5i(rw)\n"
		"/home late(rw)\n",
		&found, NULL));
	ck_assert_uint_eq(found.notes->len, 0);
	is("/home", 0, "10.0.0.0/8", RULE_RW, SQUASH_ROOT);
	is("/home", 1, "@admins", RULE_RW, SQUASH_NONE);
	is("/home", 2, "*", RULE_RO, SQUASH_ROOT);
	is("/home", 3, "late", RULE_RW, SQUASH_ROOT);
	is("/with blank", 0, "host", RULE_RO, SQUASH_ROOT);
	is("/with blank", 1, "other", RULE_RW, SQUASH_ALL);
	ck_assert_int_eq(rule("/with blank", 1)->anon_uid, 99);
	ck_assert_int_eq(rule("/with blank", 1)->anon_gid, 98);
	ck_assert_str_eq(rule("/with blank", 0)->sec, "krb5, krb5p");
	is("/esc aped", 0, "*", RULE_RW, SQUASH_ROOT);
	is("/pub", 0, "*", RULE_RO, SQUASH_ROOT);
	is("/old", 0, "*", RULE_RW, SQUASH_ROOT);
	ck_assert_str_eq(rule("/old", 0)->sec, "krb5i");
	inventory_clear(&found);
}
END_TEST

START_TEST(mistakes)
{
	g_autoptr(GError) error = NULL;

	inventory_init(&found);
	ck_assert(read_text(exports_file_read,
			    "relative host(rw)\n"
			    "\"/open host(rw)\n"
			    "/a host(rw\n"
			    "/b \\\n"
			    " x(rw)(ro)\n"
			    "/good host(rw)\n",
			    &found, NULL));
	ck_assert_uint_eq(found.notes->len, 4);
	ck_assert(noted(&found, "line 1 is not understood: relative"));
	ck_assert(noted(&found, "line 2 ") && noted(&found, "line 3 ") && noted(&found, "line 4 "));
	is("/good", 0, "host", RULE_RW, SQUASH_ROOT);
	ck_assert(!exports_file_read("/nowhere/exports", &found, &error));
	ck_assert(strstr(error->message, "/nowhere/exports"));
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("exports_file");

	tcase_add_test(tcase, all_that_it_knows);
	tcase_add_test(tcase, mistakes);
	return run_tcase(tcase);
}
