/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/nfs_url.h"
#include "tests/retriever/backend_support.h"

static void check(const char *text, const char *host, const char *path, unsigned nfs,
		  unsigned mount)
{
	struct nfs_url url;
	GError *error = NULL;

	ck_assert_msg(nfs_url_parse(text, &url, &error), "%s", error ? error->message : "");
	ck_assert_str_eq(url.text, text);
	ck_assert_str_eq(url.host, host);
	ck_assert_str_eq(url.path, path);
	ck_assert_uint_eq(url.nfs_port, nfs);
	ck_assert_uint_eq(url.mount_port, mount);
	nfs_url_clear(&url);
}

static void check_bad(const char *text, const char *hint)
{
	struct nfs_url url;
	GError *error = NULL;

	ck_assert_msg(!nfs_url_parse(text, &url, &error), "%s", text);
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error->message, text) && strstr(error->message, hint), "%s",
		      error->message);
	ck_assert_ptr_null(strchr(error->message, '\n'));
	g_error_free(error);
	nfs_url_clear(&url);
}

START_TEST(urls_are_taken_apart)
{
	check("nfs://host/export/projects", "host", "/export/projects", 0, 0);
	check("nfs://host/", "host", "/", 0, 0);
	check("nfs://10.1.2.3:2050/a//b/", "10.1.2.3", "/a/b", 2050, 0);
	check("nfs://[fe80::1]/x", "fe80::1", "/x", 0, 0);
	check("nfs://[fe80::1]:99/x", "fe80::1", "/x", 99, 0);
	check("nfs://host/x?mountport=20048&nfsport=2051", "host", "/x", 2051, 20048);
	check("nfs://host/x?version=3&", "host", "/x", 0, 0);
	check("nfs://host/a%3fb%20c", "host", "/a?b c", 0, 0);
}
END_TEST

START_TEST(acls_have_a_port_or_are_left_out)
{
	static const struct {
		const char *text;
		unsigned port;
		bool none;
	} urls[] = {{"nfs://host/x", 0, false},
		    {"nfs://host/x?aclport=38469", 38469, false},
		    {"nfs://host/x?aclport=0", 0, true}};
	struct nfs_url url;

	for (size_t i = 0; i < G_N_ELEMENTS(urls); i++) {
		ck_assert(nfs_url_parse(urls[i].text, &url, NULL));
		ck_assert_uint_eq(url.acl_port, urls[i].port);
		ck_assert_uint_eq(url.no_acl, urls[i].none);
		nfs_url_clear(&url);
	}
}
END_TEST

START_TEST(credentials_are_set)
{
	struct nfs_url url;

	ck_assert(nfs_url_parse("nfs://host/x", &url, NULL));
	ck_assert_uint_eq(url.uid, 0);
	ck_assert_uint_eq(url.gid, 0);
	nfs_url_clear(&url);
	ck_assert(nfs_url_parse("nfs://host/x?uid=4294967295&gid=7", &url, NULL));
	ck_assert_uint_eq(url.uid, UINT32_MAX);
	ck_assert_uint_eq(url.gid, 7);
	nfs_url_clear(&url);
}
END_TEST

START_TEST(versions_may_be_said)
{
	static const struct {
		const char *url;
		bool only_v3;
		unsigned minors;
	} urls[] = {
		{"nfs://host/x", false, 0},
		{"nfs://host/x?version=3", true, 0},
		{"nfs://host/x?version=4", false, 7},
		{"nfs://host/x?version=4.0", false, 1},
		{"nfs://host/x?version=4.1", false, 2},
		{"nfs://host/x?version=4.2", false, 4},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(urls); i++) {
		struct nfs_url url;

		ck_assert(nfs_url_parse(urls[i].url, &url, NULL));
		ck_assert_int_eq(url.only_v3, urls[i].only_v3);
		ck_assert_uint_eq(url.minors, urls[i].minors);
		nfs_url_clear(&url);
	}
}
END_TEST

START_TEST(flavours_may_be_said)
{
	static const char *const flavours[] = {"sys", "krb5", "krb5i", "krb5p"};

	for (unsigned i = 0; i < G_N_ELEMENTS(flavours); i++) {
		g_autofree char *text = g_strconcat("nfs://host/x?sec=", flavours[i], NULL);
		struct nfs_url url;

		ck_assert(nfs_url_parse(text, &url, NULL));
		ck_assert_uint_eq(url.sec, i);
		nfs_url_clear(&url);
	}
}
END_TEST

START_TEST(transports_may_be_said)
{
	static const char *const transports[] = {"none", "tls", "mtls"};

	for (unsigned i = 0; i < G_N_ELEMENTS(transports); i++) {
		g_autofree char *text =
			g_strconcat("nfs://10.1.2.3/x?xprtsec=", transports[i], NULL);
		struct nfs_url url;

		ck_assert(nfs_url_parse(text, &url, NULL));
		ck_assert_uint_eq(url.xprtsec, i);
		nfs_url_clear(&url);
	}
}
END_TEST

START_TEST(mistakes_get_one_line)
{
	check_bad("nfs://", "no host");
	check_bad("nfs:///path", "no host");
	check_bad("nfs://host", "no path");
	check_bad("nfs://host?version=3", "no path");
	check_bad("nfs://user@host/x", "no host");
	check_bad("nfs://[::1/x", "closing bracket");
	check_bad("nfs://host:0/x", "1 to 65535");
	check_bad("nfs://host:65536/x", "1 to 65535");
	check_bad("nfs://host:/x", "1 to 65535");
	check_bad("nfs://host/x?mountport=no", "mountport");
	check_bad("nfs://host/x?nfsport", "nfsport");
	check_bad("nfs://host/x?aclport=65536", "0 to 65535");
	check_bad("nfs://host/x?uid=-1", "uid");
	check_bad("nfs://host/x?version=2", "version=3, 4, 4.0, 4.1 or 4.2");
	check_bad("nfs://host/x?version=4.3", "version=3, 4, 4.0, 4.1 or 4.2");
	check_bad("nfs://host/x?readahead=5", "unknown argument \"readahead\"");
	check_bad("nfs://host/x?sec=krb4", "write one of sys, krb5, krb5i, krb5p, or leave it out");
	check_bad("nfs://host/x?xprtsec=ssl", "write one of none, tls, mtls, or leave it out");
	check_bad("nfs://10.1.2.3/x?sec=krb5", "by their names");
	check_bad("nfs://[::1]/x?sec=krb5", "by their names");
	check_bad("nfs://localhost/x?sec=krb5p", "by their names");
	check_bad("nfs://host/x?sec=krb5i&uid=7", "go with sec=sys");
	check_bad("nfs://host/x%zz", "%25");
	check_bad("nfs://host/../x", "..");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, urls_are_taken_apart);
	tcase_add_test(tcase, acls_have_a_port_or_are_left_out);
	tcase_add_test(tcase, credentials_are_set);
	tcase_add_test(tcase, versions_may_be_said);
	tcase_add_test(tcase, flavours_may_be_said);
	tcase_add_test(tcase, transports_may_be_said);
	tcase_add_test(tcase, mistakes_get_one_line);
	return run_tcase(tcase);
}
