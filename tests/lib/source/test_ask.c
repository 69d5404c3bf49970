/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/source/ask.h"
#include "tests/suite.h"

static unsigned heard;
static gboolean lasting;

static gboolean count(void *arg, char **fields)
{
	heard++;
	return arg == NULL || heard < 2;
}

/* Asks the stand-in, and nothing of it is left. */
static char *put(const char *question, unsigned wait, void *arg)
{
	const char *const fields[] = {question, "more", NULL};
	char *why;

	heard = 0;
	why = ask(FAKE_ASKER, fields, wait, count, arg, &lasting);
	ck_assert(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return why;
}

START_TEST(answers)
{
	ck_assert_ptr_null(put("echo", 60, NULL));
	ck_assert_uint_eq(heard, 2);
	ck_assert(!lasting);
}
END_TEST

static void fails(const char *question, unsigned wait, unsigned answers, gboolean is_lasting,
		  const char *words)
{
	g_autofree char *why = put(question, wait, NULL);

	ck_assert(why && strstr(why, words));
	ck_assert(!strpbrk(why, "\n\x1b"));
	ck_assert_uint_eq(heard, answers);
	ck_assert_int_eq(lasting, is_lasting);
}

/* In whoever's hands it is. */
START_TEST(hostile)
{
	fails("garbage", 60, 0, FALSE, "nonsense");
	fails("crash", 60, 1, FALSE, "(signal 9)");
	fails("quit", 60, 0, FALSE, "status 7");
	fails("silent", 1, 0, FALSE, "(signal 9)"); /* and does not end */
	fails("long", 60, 0, FALSE, "nonsense");
	fails("endless", 60, 65536, FALSE, "too long");
	fails("stall", 1, 1, TRUE, "does not answer within 1 s");
	fails("failed", 60, 0, TRUE, "port 1:\\012\\033[2Jno");
}
END_TEST

START_TEST(refused_answer)
{
	g_autofree char *why = put("echo", 60, &heard);

	ck_assert(why && strstr(why, "no sense"));
	ck_assert_uint_eq(heard, 2);
}
END_TEST

START_TEST(no_program)
{
	const char *const fields[] = {"echo", NULL};
	g_autofree char *why = ask("/nowhere", fields, 1, count, NULL, NULL);

	ck_assert(why && strstr(why, "/nowhere: No such file"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ask");

	tcase_add_test(tcase, answers);
	tcase_add_test(tcase, hostile);
	tcase_add_test(tcase, refused_answer);
	tcase_add_test(tcase, no_program);
	return run_tcase(tcase);
}
