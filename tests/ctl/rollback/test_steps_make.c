/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was made anew in TARGET_STAGE when a run was killed. */
#include "tests/ctl/rollback/each_step.h"

/* As many as several threads make (parallel.c), in several batches. */
static void change_many(void)
{
	trees_make("mkdir -p a/b && for i in $(seq 36); do echo old$i >a/$i; done && "
		   "find . -exec touch -hd 2001-02-03T04:05:06.789 {} +");
	for (unsigned i = 1; i <= 36; i++) {
		g_autofree char *path = g_strdup_printf("a/%u", i);
		g_autofree char *command = g_strdup_printf("echo changed%u >>%s", i, path);

		change(path, JOURNAL_DATA, command);
	}
	make("a/b/new", "echo new >a/b/new");
	carry_batch_files = 17;
}

START_TEST(i12_killed_while_many_are_made)
{
	end_at_steps(5, change_many, change_nothing);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, i12_killed_while_many_are_made);
	return run_tcase(tcase);
}
