/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "lib/source/share_question.h"
#include "tests/suite.h"

static GString *told;

static gboolean tell(void *arg, const char *name, const char *type, const char *comment)
{
	g_string_append_printf(told, "%s|%s|%s;", name, type, comment);
	return arg == NULL;
}

/* Asks fake_asker.c as that user of DOM, with that password. */
static char *put(const char *address, const char *user, const char *password, void *arg,
		 struct share_question *asked)
{
	*asked = (struct share_question){.program = FAKE_ASKER,
					 .address = address,
					 .wait = 60,
					 .dialect = "",
					 .user = user,
					 .domain = "DOM",
					 .password = password};
	g_string_truncate(told, 0);
	return share_ask(asked, tell, arg);
}

START_TEST(shares_are_told)
{
	struct share_question asked;

	told = g_string_new(NULL);
	ck_assert_ptr_null(put("127.0.0.1", "user", "secret", NULL, &asked));
	ck_assert_str_eq(told->str, "projects|disk|what we do;IPC$|ipc|;");
	ck_assert(asked.spoken && !asked.refused);
	g_string_free(told, TRUE);
}
END_TEST

START_TEST(or_why_not)
{
	struct share_question asked;

	told = g_string_new(NULL);
	ck_assert_ptr_null(put("127.0.0.7", "", "", NULL, &asked));
	ck_assert(asked.spoken && asked.refused && !told->len);
	g_autofree char *stopped = put("127.0.0.1", "", "", told, &asked);
	ck_assert(stopped && asked.spoken);
	ck_assert_str_eq(told->str, "projects|disk|what we do;");
	g_autofree char *killed = put("127.0.0.1", "user", "wrong", NULL, &asked);
	ck_assert(strstr(killed, "(signal 9)") && !asked.spoken);
	g_autofree char *failed = put("127.0.0.9", "user", "secret", NULL, &asked);
	ck_assert(failed && asked.lasting && !asked.spoken);
	g_string_free(told, TRUE);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("share_question");

	tcase_add_test(tcase, shares_are_told);
	tcase_add_test(tcase, or_why_not);
	return run_tcase(tcase);
}
