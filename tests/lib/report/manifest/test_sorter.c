/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <string.h>

#include "lib/report/manifest/sorter.h"
#include "tests/suite.h"

static struct proof_sorter *sorter_of(const char *const *lines)
{
	struct proof_sorter *sorter = proof_sorter_new("/var/tmp", NULL);

	ck_assert_ptr_nonnull(sorter);
	for (; *lines; lines++)
		ck_assert(proof_sorter_add(sorter, *lines, strlen(*lines), NULL));
	return sorter;
}

static void expect_next(struct proof_sorter *sorter, const char *wanted)
{
	g_autoptr(GError) error = NULL;
	gsize len;
	const char *line = proof_sorter_next(sorter, &len, &error);

	ck_assert_ptr_null(error);
	ck_assert_pstr_eq(line, wanted);
	ck_assert_uint_eq(len, wanted ? strlen(wanted) : 0);
}

/* Bytes of the first field count, in no language, and what comes first stays first. */
START_TEST(order)
{
	static const char *const lines[] = {"./b 1\n",	  "./a/b 2\n", "./a.b 9\n", "./a 3\n",
					    "./B 5\n",	  "./a 1\n",   ". 4\n",	    "./a~ 4\n",
					    "./\xc3 6\n", "./a 2\n",   NULL};
	static const char *const wanted[] = {". 4",   "./B 5",	  "./a 3",   "./a 1",
					     "./a 2", "./a.b 9",  "./a/b 2", "./a~ 4",
					     "./b 1", "./\xc3 6", NULL,	     NULL};
	struct proof_sorter *sorter;

	g_setenv("LC_ALL", "en_US.UTF-8", TRUE);
	sorter = sorter_of(lines);
	for (unsigned i = 0; i < G_N_ELEMENTS(wanted); i++)
		expect_next(sorter, wanted[i]);
	proof_sorter_free(sorter);
}
END_TEST

START_TEST(nothing)
{
	static const char *const lines[] = {NULL};
	struct proof_sorter *sorter = sorter_of(lines);

	expect_next(sorter, NULL);
	proof_sorter_free(sorter);
	proof_sorter_free(sorter_of(lines)); /* before its end */
	proof_sorter_free(NULL);
}
END_TEST

/* More than fits into memory, where there is no room for it: it says so, and does not end early. */
START_TEST(no_room)
{
	g_autoptr(GError) error = NULL;
	struct proof_sorter *sorter;
	g_autofree char *line = g_strnfill(100000, 'x');
	gsize len;
	bool ok = true;

	signal(SIGPIPE, SIG_IGN);
	line[99999] = '\n';
	sorter = proof_sorter_new("/nonexistent", &error);
	ck_assert_ptr_nonnull(sorter);
	for (unsigned i = 0; ok && i < 2000; i++)
		ok = proof_sorter_add(sorter, line, 100000, &error);
	if (ok)
		ck_assert_ptr_null(proof_sorter_next(sorter, &len, &error));
	ck_assert_ptr_nonnull(error);
	proof_sorter_free(sorter);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("sorter");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, order);
	tcase_add_test(tcase, nothing);
	tcase_add_test(tcase, no_room);
	return run_tcase(tcase);
}
