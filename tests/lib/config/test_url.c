/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/url.h"

#include "tests/retriever/backend_support.h"

static void check_url_path(const char *text, const char *expected)
{
	GError *error = NULL;
	char *path = url_path("url", text, strlen(text), &error);

	if (expected) {
		ck_assert_str_eq(path, expected);
		ck_assert_ptr_null(error);
	} else {
		ck_assert_ptr_null(path);
		ck_assert_ptr_nonnull(error);
		g_error_free(error);
	}
	g_free(path);
}

START_TEST(url_paths_are_decoded)
{
	check_url_path("/a/b", "/a/b");
	check_url_path("//a///b/", "/a/b");
	check_url_path("/", "/");
	check_url_path("/with%20space%3f%25", "/with space?%");
	check_url_path("/50%", NULL);
	check_url_path("/a%00b", NULL);
	check_url_path("/a/../b", NULL);
	check_url_path("/a/%2e%2e/b", NULL);
	check_url_path("/./a", NULL);
}
END_TEST

START_TEST(passwords_are_not_shown)
{
	static const char *const shown[][2] = {
		{"smb://u:pw@h/s", "smb://..."},
		{"cifs://u:p/w@h/s", "cifs://..."},
		{"SMB://D;u:p?w@h", "SMB://..."},
		{"nfs://u:p#w@h/x", "nfs://..."},
		{"u:pw@h/s", "..."},
		{"smb://u@h/s", NULL},
		{"smb://u@h:445/s", NULL},
		{"smb://u@[fe80::1]/s/x@y", NULL},
		{"nfs://[fe80::1]:2049/x", NULL},
		{"file:///a:b/c@d", NULL},
		{"/a:b", NULL},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(shown); i++) {
		g_autofree char *text = url_shown(shown[i][0]);

		ck_assert_str_eq(text, shown[i][1] ? shown[i][1] : shown[i][0]);
	}
}
END_TEST

START_TEST(url_hosts_are_taken_apart)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} good[] = {
		{"host", "host", 7},	     {"10.1.2.3", "10.1.2.3", 7},
		{"host:1", "host", 1},	     {"host:65535", "host", 65535},
		{"[fe80::1]", "fe80::1", 7}, {"[fe80::1%eth0]:99", "fe80::1%eth0", 99},
		{"[host]:0080", "host", 80},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autofree char *longer = g_strdup_printf("%s:5/x", good[i].text);
		g_autofree char *host = NULL;
		uint16_t port = 7;

		ck_assert_ptr_null(url_host(longer, strlen(good[i].text), &host, &port));
		ck_assert_str_eq(host, good[i].host);
		ck_assert_uint_eq(port, good[i].port);
	}
}
END_TEST

START_TEST(url_hosts_are_checked)
{
	static const char *const bad[][2] = {
		{"", "no host"},	  {":1", "no host"},
		{"[]", "no host"},	  {"[]:1", "no host"},
		{"user@h", "no host"},	  {"[a]b", "no host"},
		{"[[::1]", "no host"},	  {"a]", "no host"},
		{"[a;b]", "no host"},	  {"[::1", "closing bracket"},
		{"[", "closing bracket"}, {"h:", "no port"},
		{"h:0", "no port"},	  {"h:65536", "no port"},
		{"h:x", "no port"},	  {"h: 1", "no port"},
		{"fe80::1", "no port"},	  {"[::1]:", "no port"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *host = (char *)"";
		uint16_t port = 7;
		const char *mistake = url_host(bad[i][0], strlen(bad[i][0]), &host, &port);

		ck_assert_msg(mistake && strstr(mistake, bad[i][1]), "%s: %s", bad[i][0],
			      mistake ? mistake : "(taken)");
		ck_assert_ptr_null(host);
		ck_assert_uint_eq(port, 7);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, url_paths_are_decoded);
	tcase_add_test(tcase, passwords_are_not_shown);
	tcase_add_test(tcase, url_hosts_are_taken_apart);
	tcase_add_test(tcase, url_hosts_are_checked);
	return run_tcase(tcase);
}
