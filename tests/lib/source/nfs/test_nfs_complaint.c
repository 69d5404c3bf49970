/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_complaint.h"

#include "tests/retriever/backend_support.h"

static void count(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
	ck_assert(g_str_has_prefix(message, "nfs://old/x: "));
	(*(unsigned *)user)++;
}

START_TEST(it_is_said_once)
{
	struct nfs_complaint complaint = {0};
	const char *url = "nfs://old/x";
	unsigned lines = 0;

	nfs_complaint_init(&complaint);
	g_log_set_default_handler(count, &lines);
	nfs_complaint_say(&complaint, url, NULL);
	ck_assert_uint_eq(lines, 0);
	for (unsigned i = 0; i < 3; i++)
		nfs_complaint_say(&complaint, url, "this is wrong");
	ck_assert_uint_eq(lines, 1);
	nfs_complaint_say(&complaint, url, "that, too");
	ck_assert_uint_eq(lines, 2);
	for (unsigned i = 0; i < 3; i++)
		nfs_complaint_say(&complaint, url, NULL);
	ck_assert_uint_eq(lines, 3);
	nfs_complaint_say(&complaint, url, "this is wrong");
	ck_assert_uint_eq(lines, 4);
	nfs_complaint_clear(&complaint);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, it_is_said_once);
	return run_tcase(tcase);
}
