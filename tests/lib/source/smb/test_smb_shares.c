/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/source/smb/smb_shares.h"
#include "tests/suite.h"

/* What is said with these settings of "DOM;user@127.0.0.LAST:PORT", which takes "secret" and DOM
 * alone (fake_asker.c). */
static char *said_with(struct smb_config config, const char *server, const char *password)
{
	g_autofree char *file = NULL;
	g_autofree char *text = g_strdup_printf("smb://%s/missing", server);
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

static char *said_of(const char *last, const char *port, const char *password)
{
	g_autofree char *server = g_strdup_printf("DOM;user@127.0.0.%s%s", last, port);

	return said_with((struct smb_config){.domain = NULL}, server, password);
}

START_TEST(disks_are_named)
{
	g_autofree char *one = said_of("1", "", "secret\n");
	g_autofree char *many = said_of("8", "", "secret\n");

	ck_assert_str_eq(one, "projects");
	ck_assert_str_eq(many, "a\\012, b, c, d, e, f, g, h and 2 more");
}
END_TEST

START_TEST(long_names_are_cut)
{
	g_autofree char *said = said_of("5", "", "secret\n");

	ck_assert(said && g_str_has_suffix(said, " and 2 more"));
	ck_assert_uint_lt(strlen(said), 8 * (REFUSED_TEXT_MAX + 2) + 20);
}
END_TEST

START_TEST(asked_as_the_worker_asks)
{
	struct smb_config config = {.domain = (char *)"DOM"};
	g_autofree char *domain = said_with(config, "user@127.0.0.1", "secret\n");
	g_autofree char *dialect = said_of("6", "", "secret\n");

	ck_assert_str_eq(domain, "projects");
	ck_assert_str_eq(dialect, "projects");
	config.domain = (char *)"OTHER"; /* the URL's counts */
	g_autofree char *both = said_with(config, "DOM;user@127.0.0.1", "secret\n");
	ck_assert_str_eq(both, "projects");
}
END_TEST

/* What migrate-discover does not do. */
START_TEST(not_where_signatures_are_wanted)
{
	const struct smb_config wanted[] = {{.signing = SMB_REQUIRED},
					    {.encryption = SMB_REQUIRED},
					    {.encryption = SMB_DESIRED}};

	for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++)
		ck_assert_ptr_null(said_with(wanted[i], "DOM;user@127.0.0.1", "secret\n"));
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
	tcase_add_test(tcase, long_names_are_cut);
	tcase_add_test(tcase, asked_as_the_worker_asks);
	tcase_add_test(tcase, not_where_signatures_are_wanted);
	tcase_add_test(tcase, or_nothing_is_said);
	return run_tcase(tcase);
}
