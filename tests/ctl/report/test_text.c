/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/text.h"
#include "tests/ctl/report/made.h"

/* All lines are there, and it says when the sums do not add up. */
START_TEST(all_of_it)
{
	struct final *final = made_final();
	g_autofree char *text = NULL;
	FILE *out;
	size_t len;

	for (unsigned i = 0; i < FINAL_SHOWN + 1; i++)
		final_add(final, FINAL_SKIPPED, i < FINAL_SHOWN ? "a" : "the last", "too long");
	final->comparison.status[PROOF_SAME] = 1;
	final->unlisted = 4711;
	out = open_memstream(&text, &len);
	ck_assert(final_text(out, final));
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "\nthe last: too long\n"));
	ck_assert_ptr_nonnull(strstr(text, "do NOT add up: the comparison counted 1 object "));
	ck_assert_ptr_nonnull(strstr(text, "4711  " FINAL_UNLISTED "\n"));
	ck_assert_ptr_nonnull(strstr(text, "\\033[2J"));
	ck_assert_ptr_null(strchr(text, '\x1b'));
	final_free(final);
}
END_TEST

START_TEST(full_disk)
{
	struct final *final = made_final();
	FILE *out = fopen("/dev/full", "w");

	ck_assert(!final_text(out, final));
	fclose(out);
	final_free(final);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {all_of_it, full_disk, NULL};

	return run_made("text", tests);
}
