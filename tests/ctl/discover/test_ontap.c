/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ctl/discover/ontap.h"
#include "tests/suite.h"

static GString *bad;

static void note(void *arg, unsigned line, const char *text)
{
	g_string_append_printf(bad, "%u %s\n", line, text);
}

static GPtrArray *list(const char *text)
{
	bad = g_string_new("");
	return ontap_read(text, note, NULL);
}

static void is(const GPtrArray *records, unsigned n, const char *key, const char *value)
{
	ck_assert_uint_lt(n, records->len);
	ck_assert_str_eq(ontap_get(records->pdata[n], "none", key, NULL), value);
}

START_TEST(tables)
{
	g_autoptr(GPtrArray) records = list("cluster1::> vserver cifs share show -vserver vs1\n"
					    "Vserver   Share     Path     Properties Comment\n"
					    "--------- --------- -------- ---------- --------\n"
					    "vs1       c$        /        oplocks    -\n"
					    "                             browsable\n"
					    "vs1       data      /data    -          of all\n"
					    "2 entries were displayed.\n"
					    "\n"
					    "             Policy    Rule\n"
					    "Vserver      Name      Index\n"
					    "------------ --------- ------\r\n"
					    "vs1          default   1\n"
					    "vs1          a-longer-name 1\n"
					    "cluster1::*>\n");

	ck_assert_uint_eq(records->len, 3);
	is(records, 0, "share", "c$");
	is(records, 0, "properties", "oplocks\nbrowsable");
	is(records, 0, "comment", "");
	is(records, 1, "comment", "of all");
	is(records, 1, "properties", "");
	is(records, 2, "policyname", "default");
	is(records, 2, "ruleindex", "1");
	ck_assert_str_eq(bad->str, "13 vs1          a-longer-name 1\n");
	g_string_free(bad, TRUE);
}
END_TEST

START_TEST(instances)
{
	g_autoptr(GPtrArray) records = list("             Vserver: vs1\n"
					    "      Share ACL: Everyone / Read\n"
					    "                 DOM\\a / Change\n"
					    "        Comment: a: b\n"
					    "\n"
					    "             Vserver: vs2\n"
					    "           Match: fd00::/16\n"
					    "             Vserver: vs3\n");

	ck_assert_uint_eq(records->len, 3);
	is(records, 0, "shareacl", "Everyone / Read\nDOM\\a / Change");
	is(records, 0, "comment", "a: b");
	is(records, 1, "match", "fd00::/16");
	is(records, 2, "vserver", "vs3");
	ck_assert_uint_eq(((struct ontap_record *)records->pdata[2])->line, 8);
	ck_assert_str_eq(bad->str, "");
	g_string_free(bad, TRUE);
}
END_TEST

START_TEST(nonsense)
{
	g_autoptr(GPtrArray) records = list("one\ntwo\nthree\nfour\nfive\n\n---- ----\n"
					    "   Head\n   ----\n x\n");

	ck_assert_uint_eq(records->len, 0);
	ck_assert_str_eq(bad->str, "1 one\n2 two\n3 three\n4 four\n5 five\n10  x\n");
	g_string_free(bad, TRUE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ontap");
	TCase *tcase = tcase_create("ontap");

	tcase_add_test(tcase, tables);
	tcase_add_test(tcase, instances);
	tcase_add_test(tcase, nonsense);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
