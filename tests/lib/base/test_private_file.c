/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/private_file.h"

#include <unistd.h>

#include "tests/retriever/backend_support.h"

static void check(mode_t mode, uid_t uid, const char *words)
{
	const struct stat st = {.st_mode = mode, .st_uid = uid};
	const char *why = private_file_objection(&st);

	if (words)
		ck_assert_msg(why && strstr(why, words), "%s", why);
	else
		ck_assert_ptr_null(why);
}

START_TEST(only_its_owner_may_come_at_it)
{
	check(S_IFREG | 0600, geteuid(), NULL);
	check(S_IFREG | 0400, geteuid(), NULL);
	check(S_IFREG | 0640, geteuid(), "chmod 600");
	check(S_IFREG | 0602, geteuid(), "chmod 600");
	check(S_IFREG | 0600, geteuid() + 1, "chown it to root");
	check(S_IFDIR | 0700, geteuid(), "is not a file");
	check(S_IFIFO | 0600, geteuid(), "is not a file");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, only_its_owner_may_come_at_it);
	return run_tcase(tcase);
}
