/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/run.h"

#include "tests/ctl/rollback/trees.h"

static struct volume_config config = {.name = (char *)"test",
				      .root = (char *)NEW_TREE,
				      .source = (char *)"file:///mnt/old",
				      .journal = (char *)"/mnt/journal",
				      .report = (char *)"/mnt/test.report",
				      .socket = (char *)"/mnt/none.sock"};

static void refuses(const char *to, const char *why)
{
	const struct rollback_options options = {.to = to, .stop = &stop_now};
	struct rollback_result result;
	GError *error = NULL;

	ck_assert(!rollback_run(&config, &options, &result, &error));
	ck_assert_msg(strstr(error->message, why) != NULL, "%s", error->message);
	g_error_free(error);
	rollback_clear(&result);
}

START_TEST(refused)
{
	trees_make(FILL);
	trees_commit();
	journal_store_close(journal);
	refuses(NULL, "rollback-source");
	refuses(NEW_TREE, "apart");
	refuses(OLD_TREE, "migrate-journal"); /* nobody watches */
	config.source = (char *)"smb://host/share";
	refuses(OLD_TREE, "written as it was read");
	config.source = (char *)"smb://Reader@host/share";
	refuses("smb://reader@host/share", "who is to have no write rights");
	config.source = (char *)"file:///mnt/old";
	refuses("smb://writer@host/share", "written as it was read");
	config.journal = (char *)"/mnt/none";
	refuses(OLD_TREE, "/mnt/none");
	g_autofree char *dir = rollback_directory(&config);
	ck_assert_str_eq(dir, "/mnt/test.rollback");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, refused);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
