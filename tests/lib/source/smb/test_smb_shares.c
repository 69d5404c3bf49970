/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>
#include <unistd.h>

#include "lib/source/smb/smb_shares.h"
#include "tests/suite.h"

/* What is said of the server at 127.0.0.LAST, which takes "secret" alone (fake_asker.c). */
static char *said_of(const char *last, const char *port, const char *password)
{
	g_autofree char *file = NULL;
	g_autofree char *text = g_strdup_printf("smb://DOM;user@127.0.0.%s%s/missing", last, port);
	struct smb_config config = {.password_file = NULL};
	struct smb_url url;
	char *said;
	int fd = g_file_open_tmp(NULL, &file, NULL);

	ck_assert(fd >= 0 && !fchmod(fd, 0600) && !close(fd));
	ck_assert(g_file_set_contents(file, password, -1, NULL) && !chmod(file, 0600));
	g_setenv("MIGRATE_DISCOVER", FAKE_ASKER, TRUE);
	config.password_file = file;
	ck_assert(smb_url_parse(text, &url, NULL));
	said = smb_shares_text(&config, &url);
	smb_url_clear(&url);
	unlink(file);
	return said;
}

START_TEST(disks_are_named)
{
	g_autofree char *one = said_of("1", "", "secret\n");
	g_autofree char *many = said_of("8", "", "secret\n");

	ck_assert_str_eq(one, "projects");
	ck_assert_str_eq(many, "a\\012, b, c, d, e, f, g, h and 2 more");
}
END_TEST

START_TEST(or_nothing_is_said)
{
	ck_assert_ptr_null(said_of("1", "", "wrong\n"));  /* the process is killed */
	ck_assert_ptr_null(said_of("9", "", "secret\n")); /* it fails */
	ck_assert_ptr_null(said_of("1", ":446", "secret\n"));
	ck_assert_ptr_null(said_of("1", "", "")); /* no password */
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("smb_shares");

	tcase_add_test(tcase, disks_are_named);
	tcase_add_test(tcase, or_nothing_is_said);
	return run_tcase(tcase);
}
