/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/config/smb_url.h"
#include "tests/suite.h"

START_TEST(good_ones)
{
	static const struct {
		const char *text, *domain, *user, *host, *share, *path;
		unsigned port;
	} good[] = {
		{"smb://u@h/s", "", "u", "h", "s", "", 445},
		{"smb://u@h/s/", "", "u", "h", "s", "", 445},
		{"smb://D;u@h:4450/s//a/b/", "D", "u", "h", "s", "a/b", 4450},
		{"smb://u%40x@[fe80::1]:1/s%20t/%C3%A4", "", "u@x", "fe80::1", "s t", "\303\244",
		 1},
		{"smb://a@b@h/s", "", "a@b", "h", "s", "", 445},
		{"smb://u@[::1]/s/@GMT", "", "u", "::1", "s", "@GMT", 445},
		{"smb://u@h:1/s%40x/y", "", "u", "h", "s@x", "y", 1},
		{"smb://D%3BE;u@[::1]/s$", "D;E", "u", "::1", "s$", "", 445},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		struct smb_url url;
		GError *error = NULL;

		ck_assert_msg(smb_url_parse(good[i].text, &url, &error), "%s",
			      error ? error->message : "");
		ck_assert_str_eq(url.text, good[i].text);
		ck_assert_str_eq(url.domain, good[i].domain);
		ck_assert_str_eq(url.user, good[i].user);
		ck_assert_str_eq(url.host, good[i].host);
		ck_assert_str_eq(url.share, good[i].share);
		ck_assert_str_eq(url.path, good[i].path);
		ck_assert_uint_eq(url.port, good[i].port);
		smb_url_clear(&url);
	}
}
END_TEST

START_TEST(bad_ones)
{
	static const char *const bad[][2] = {
		{"smb://", "no user"},
		{"smb://h/s", "no user"},
		{"smb://@h/s", "no name"},
		{"smb://D;@h/s", "no name"},
		{"smb://u@/s", "no host"},
		{"smb://u@h", "no share"},
		{"smb://u@h/", "no share"},
		{"smb://u@h//", "no share"},
		{"smb://u@h:0/s", "no port"},
		{"smb://u@h:65536/s", "no port"},
		{"smb://u@h:x/s", "no port"},
		{"smb://u@[::1/s", "closing bracket"},
		{"smb://u%@h/s", "%25"},
		{"smb://u@h/s/../t", "\"..\""},
		{"smb://u@h/s?x=1", "arguments"},
		{"smb://u@h/a\\b", "in its name"},
		{"smb://u:hush@h/s", "smb-password-file"},
		{"smb://u:hu/sh@h/s", "smb-password-file"},
		{"smb://u:hu?sh@h/s", "smb-password-file"},
		{"smb://u:hu#sh@h/s", "smb-password-file"},
		{"smb://D;u:/hush@h/s", "smb-password-file"},
		{"smb://u:@hush@h/s", "smb-password-file"},
		{"smb://u@d:1/hush@h/s", "smb-password-file"}, /* or the share hush@h, on port 1 */
		{"smb://u%3Ahush@h/s", "smb-password-file"},
		{"smb://[u:hush@h/s", "smb-password-file"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct smb_url url;
		GError *error = NULL;

		ck_assert_msg(!smb_url_parse(bad[i][0], &url, &error), "%s", bad[i][0]);
		ck_assert_msg(strstr(error->message, bad[i][1]), "%s", error->message);
		ck_assert_ptr_null(strstr(error->message, "hu"));
		ck_assert(!url.text || !strstr(url.text, "hu"));
		g_clear_error(&error);
		smb_url_clear(&url);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("url");

	tcase_add_test(tcase, good_ones);
	tcase_add_test(tcase, bad_ones);
	return run_tcase(tcase);
}
