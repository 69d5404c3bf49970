/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/source/smb/smb_secret.h"
#include "tests/retriever/ccache.h"
#include "tests/suite.h"

static char *file;
static struct smb_url url = {.text = "url", .user = "alice", .host = "old.test"};

static void write_file(const char *text, gssize len, mode_t mode)
{
	ck_assert(g_file_set_contents(file, text, len, NULL));
	ck_assert_int_eq(chmod(file, mode), 0);
}

static void refused(const struct smb_config *config, const char *words)
{
	struct smb_secret secret;
	GError *error = NULL;

	ck_assert(!smb_secret_get(config, &url, &secret, &error));
	ck_assert_msg(strstr(error->message, words), "%s", error->message);
	ck_assert_ptr_null(secret.password);
	g_clear_error(&error);
	smb_secret_clear(&secret);
}

START_TEST(passwords)
{
	const struct smb_config config = {.password_file = file};
	static const char *const texts[] = {"pass word", "pass word\n", "pass word\r\nmore\n"};
	struct smb_secret secret;

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		write_file(texts[i], -1, 0400);
		ck_assert(smb_secret_get(&config, &url, &secret, NULL));
		ck_assert_str_eq(secret.password, "pass word");
		ck_assert_ptr_null(secret.ccache);
		smb_secret_clear(&secret);
		ck_assert_ptr_null(secret.password);
	}
}
END_TEST

START_TEST(tickets)
{
	const struct smb_config config = {.ccache = file};
	struct smb_secret secret;
	struct ccache ccache = ccache_begin("alice", NULL, "REALM");

	ccache_add(&ccache, "krbtgt", "REALM", UINT32_MAX);
	write_file((char *)ccache.data, (gssize)ccache.len, 0600);
	ck_assert(smb_secret_get(&config, &url, &secret, NULL));
	ck_assert_str_eq(secret.password, "");
	ck_assert_uint_eq(secret.ccache_len, ccache.len);
	ck_assert_mem_eq(secret.ccache, ccache.data, ccache.len);
	smb_secret_clear(&secret);

	write_file((char *)ccache.data, (gssize)ccache.len, 0640);
	refused(&config, "chmod 600");
	write_file((char *)ccache.data, 9, 0600);
	refused(&config, "no ticket cache");
	ck_assert_int_eq(g_unlink(file), 0);
	refused(&config, "kinit");
}
END_TEST

/* Not by an address. */
START_TEST(names)
{
	static const char *const hosts[] = {"10.1.2.3", "fe80::1", "LocalHost"};
	const struct smb_config config = {.ccache = file};
	struct ccache ccache = ccache_begin("alice", NULL, "REALM");

	ccache_add(&ccache, "krbtgt", "REALM", UINT32_MAX);
	write_file((char *)ccache.data, (gssize)ccache.len, 0600);
	for (size_t i = 0; i < G_N_ELEMENTS(hosts); i++) {
		url.host = (char *)hosts[i];
		refused(&config, "by their names");
	}
}
END_TEST

START_TEST(what_is_refused)
{
	const struct smb_config config = {.password_file = file}, none = {0};
	const struct smb_config missing = {.password_file = "/nowhere/at/all"};
	const struct smb_config directory = {.ccache = "/"};
	char text[2000];

	refused(&none, "smb-password-file");
	refused(&missing, "is not there: write");
	refused(&directory, "not a file");
	write_file("secret\n", -1, 0640);
	refused(&config, "chmod 600");
	write_file("secret\n", -1, 0602);
	refused(&config, "chmod 600");
	write_file("\nsecret\n", -1, 0600);
	refused(&config, "first line is empty");
	memset(text, 'x', sizeof(text));
	write_file(text, sizeof(text), 0600);
	refused(&config, "too long");
	if (geteuid() == 0) {
		write_file("secret\n", -1, 0600);
		ck_assert_int_eq(chown(file, 1, 0), 0);
		refused(&config, "chown");
	}
}
END_TEST

static void make(void)
{
	int fd = g_file_open_tmp("secret-XXXXXX", &file, NULL);

	close(fd);
}

static void clear(void)
{
	g_unlink(file);
	g_free(file);
}

int main(void)
{
	TCase *tcase = tcase_create("secret");

	tcase_add_checked_fixture(tcase, make, clear);
	tcase_add_test(tcase, passwords);
	tcase_add_test(tcase, tickets);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, what_is_refused);
	return run_tcase(tcase);
}
