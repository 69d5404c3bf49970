/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "ctl/discover/quote.h"
#include "tests/suite.h"

static void is(char *got, const char *wanted)
{
	if (wanted)
		ck_assert_str_eq(got ? got : "NULL", wanted);
	else
		ck_assert_msg(!got, "%s", got);
	g_free(got);
}

START_TEST(names)
{
	is(quote_name("/export/home"), "home");
	is(quote_name("/export/home/"), "home");
	is(quote_name("/"), "volume");
	is(quote_name("/..."), "volume");
	is(quote_name("/a b\n\xff]"), "a-b");
	is(quote_name("/-x.y-"), "x.y");
	is(quote_name("/0123456789012345678901234567890123456789012345678901234"),
	   "012345678901234567890123456789012345678901234567");
}
END_TEST

START_TEST(urls)
{
	is(quote_nfs_url("old", "/export/home", NULL), "nfs://old/export/home");
	is(quote_nfs_url("old", "/x", "krb5p, sys"), "nfs://old/x");
	is(quote_nfs_url("old", "/x", "krb5, krb5i"), "nfs://old/x?sec=krb5i");
	is(quote_nfs_url("10.1.2.3", "/x", "krb5"), "nfs://10.1.2.3/x"); /* it has no name */
	is(quote_nfs_url("old", "/x", "390099"), "nfs://old/x");
	is(quote_nfs_url("fd00::1", "/a b\n\"?#%\xff", NULL),
	   "nfs://[fd00::1]/a%20b%0A%22%3F%23%25%FF");
	is(quote_nfs_url("old", "export", NULL), NULL);
	is(quote_smb_url("OFFICE\\admin", "old", "Data 1"), "smb://OFFICE;admin@old/Data%201");
	is(quote_smb_url("admin", "old", ""), NULL);
}
END_TEST

START_TEST(ganesha)
{
	is(quote_ganesha_path("/export/home dir"), "\"/export/home dir\"");
	is(quote_ganesha_path("/größe"), "\"/größe\"");
	is(quote_ganesha_path("/a\"; }"), NULL);
	is(quote_ganesha_path("/a\\"), NULL);
	is(quote_ganesha_path("/a\n}"), NULL);
	is(quote_ganesha_path("/\xff"), NULL);
	is(quote_ganesha_path("a"), NULL);
	is(quote_client("192.0.2.1"), "192.0.2.1");
	is(quote_client("192.0.2.0/255.255.255.0"), "192.0.2.0/24");
	is(quote_client("192.0.2.0/255.0.255.0"), NULL);
	is(quote_client("0.0.0.0/0.0.0.0"), "0.0.0.0/0");
	is(quote_client("10.0.0.0/8"), "10.0.0.0/8");
	is(quote_client("10.0.0.0/33"), NULL);
	is(quote_client("fd00::/16"), "fd00::/16");
	is(quote_client("*.example.com"), "*.example.com");
	is(quote_client("@staff"), "@staff");
	is(quote_client("@"), NULL);
	is(quote_client("a; } b"), NULL);
	is(quote_client("a,b"), NULL);
	is(quote_client("host/8"), NULL);
	is(quote_client("a:b"), NULL);
	is(quote_client(""), NULL);
	is(quote_sec("sys, krb5p"), "sys, krb5p");
	is(quote_sec("390099, krb5"), "krb5");
	is(quote_sec("any;"), NULL);
	is(quote_sec(NULL), NULL);
}
END_TEST

START_TEST(samba)
{
	ck_assert(quote_is_share("Data 1$") && quote_is_share("größe"));
	ck_assert(!quote_is_share("a]") && !quote_is_share("a\n[b") && !quote_is_share(""));
	ck_assert(!quote_is_share("GLOBAL") && !quote_is_share(" a") && !quote_is_share("\xff"));
	ck_assert(!quote_is_share("#a") && !quote_is_share("a;") && !quote_is_share("%U"));
	ck_assert(quote_is_value("what \"we\" do; all", false));
	ck_assert(!quote_is_value("more \\", false) && !quote_is_value("a\nb", true));
	ck_assert(!quote_is_value("%U", false) && quote_is_value("%U", true));
	ck_assert(!quote_is_value("", true) && !quote_is_value("\xe2\x80\xa8", true));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("quote");

	tcase_add_test(tcase, names);
	tcase_add_test(tcase, urls);
	tcase_add_test(tcase, ganesha);
	tcase_add_test(tcase, samba);
	return run_tcase(tcase);
}
