/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pwd.h>
#include <string.h>

#include "ctl/doors/served.h"
#include "tests/suite.h"

static unsigned warnings;

static void warn(void *arg, const char *line)
{
	warnings++;
}

static void is(const char *text, const char *wanted)
{
	g_autoptr(GPtrArray) list = served_new();
	g_autoptr(GString) all = g_string_new(NULL);

	served_by_samba(list, text, warn, NULL);
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		g_string_append_printf(all, "%s %s %d|", served->name, served->path, served->layer);
	}
	ck_assert_str_eq(all->str, wanted);
}

START_TEST(shares)
{
	is("# Global parameters\n[global]\n\tserver role = standalone server\n\n\n[a]\n\tpath = "
	   "/srv/a\n"
	   "\tvfs objects = streams_xattr migrate acl_xattr\n\n\n[b]\n\tpath = /srv/b/\n",
	   "share [a] /srv/a 1|share [b] /srv/b/ 0|");
	/* that of all, and that of one */
	is("[global]\nvfs objects = migrate\n[a]\npath = /a\n[b]\npath = /b\nvfs objects = \n"
	   "[c]\npath = /c\nvfs objects = acl_xattr\n",
	   "share [a] /a 1|share [b] /b 0|share [c] /c 0|");
	is("[a]\npath = /a\nvfs objects = catia, migrate:x\n[b]\npath = /b\nvfs objects = "
	   "migrate2\n",
	   "share [a] /a 1|share [b] /b 0|");
	is("[a b]\nPath = \"/srv/a b\"\n[b]\npath=/srv/%U\n",
	   "share [a b] /srv/a b 0|share [b] /srv/%U 0|");
	is("[p]\npath = /var/spool\nprintable = Yes\n[q]\npath = /q\navailable = No\n", "");
	is("", "");
	is("path = /x\nnonsense\n[", "");
	ck_assert_uint_eq(warnings, 0);
	is("[global]\ninclude = /etc/samba/%m.conf\n[a]\n; path = /b\npath = /a\n",
	   "share [a] /a 0|");
	ck_assert_uint_eq(warnings, 1);
}
END_TEST

START_TEST(homes)
{
	g_autoptr(GPtrArray) list = served_new();
	const struct passwd *root = getpwuid(0);
	bool found = false;

	served_by_samba(list, "[homes]\nvfs objects = migrate\n", warn, NULL);
	ck_assert_uint_gt(list->len, 0);
	for (guint i = 0; i < list->len; i++) {
		const struct served *served = list->pdata[i];

		found |= g_str_equal(served->path, root->pw_dir);
		ck_assert(served->layer);
		ck_assert_str_ne(served->path, "/");
	}
	ck_assert(found);
	is("[homes]\npath = /srv/homes/%S\n", "share [homes] /srv/homes/%S 0|");
	is("[global]\npath = /srv/%S\n[a b]\n[c]\npath = /%S/%U\n",
	   "share [a b] /srv/a b 0|share [c] /c/%U 0|");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("samba_shares");
	TCase *tcase = tcase_create("samba_shares");

	tcase_add_test(tcase, shares);
	tcase_add_test(tcase, homes);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
