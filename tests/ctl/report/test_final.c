/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/report/made.h"

static struct final *counted(void)
{
	struct final *final = made_final();

	final->count.entries = 10;
	final->count.status[PROOF_SAME] = final->comparison.status[PROOF_SAME] = 7;
	final->count.status[PROOF_MADE] = final->comparison.status[PROOF_MADE] = 3;
	return final;
}

static void expect(const struct final *final, bool complete, const char *said)
{
	g_autofree char *verdict = final_verdict(final);

	ck_assert_int_eq(final_is_complete(final), complete);
	ck_assert_msg(strstr(verdict, said), "%s", verdict);
	ck_assert_int_eq(g_str_has_prefix(verdict, "NOT"), !complete);
}

START_TEST(verdicts)
{
	struct final *final = counted();

	expect(final, true, "7 objects of the old server, all accounted for");
	ck_assert_uint_eq(final_old_objects(final), 7);
	final->comparison.any = false;
	final->unlisted = 2;
	expect(final, true, "nothing was compared");
	ck_assert_uint_eq(final_old_objects(final), 9);
	final->names_here = 11;
	expect(final, false, "11 names");
	final_free(final);
	final = counted();
	final->comparison.status[PROOF_SAME] = 8;
	expect(final, false, "counted 8 objects that are same, the manifest has 7");
	final_free(final);
	final = counted();
	final->count.entries = 11;
	expect(final, false, "has 11 objects, and 10 of them");
	final_free(final);
	final = counted();
	final_add(final, FINAL_FAILED, "x", "denied");
	expect(final, false, "1 thing failed");
	final_free(final);
	for (unsigned i = PROOF_UNFINISHED; i <= PROOF_FAILED; i++) {
		final = counted();
		final->count.entries += 4;
		final->count.status[i] = final->comparison.status[i] = 4;
		expect(final, false, "4 ");
		final_free(final);
	}
	final = made_final();
	final->comparison.any = false;
	expect(final, false, "nothing is known");
	final_free(final);
}
END_TEST

/* All lines are kept, the first in memory, each of them one line. */
START_TEST(long_lists)
{
	struct final *final = made_final();
	struct final_list *list = &final->lists[FINAL_CLIENTS];
	unsigned lines = 0;
	int c;

	for (unsigned i = 0; i < FINAL_SHOWN + 500; i++)
		final_add(final, FINAL_CLIENTS, i ? "a\nb\xff" : "", "what\r\nelse");
	ck_assert(final_lists_whole(final));
	ck_assert_uint_eq(list->total, FINAL_SHOWN + 500);
	ck_assert_uint_eq(list->first->len, FINAL_SHOWN);
	const struct final_line *first = g_ptr_array_index(list->first, 0);
	ck_assert_str_eq(first->path, ".");
	rewind(list->all);
	while ((c = fgetc(list->all)) != EOF) {
		lines += c == '\n';
		ck_assert_int_ne(c, '\r');
		ck_assert_int_ne(c, 0xff);
	}
	ck_assert_uint_eq(lines, FINAL_SHOWN + 500);
	final_free(final);
}
END_TEST

/* A sample says how sure it is. */
START_TEST(sampled)
{
	struct final *final = counted();
	g_autofree char *all = final_contents(final), *some = NULL;

	ck_assert_ptr_nonnull(strstr(all, "all files"));
	final->comparison.sample = FINAL_ALL / 50;
	final->comparison.seed = 77;
	final->comparison.fraction = 0.1;
	final->comparison.confidence = 95.5;
	some = final_contents(final);
	ck_assert_ptr_nonnull(strstr(some, "a sample of 2 % of the files (seed 77; if 0.1 %"));
	ck_assert_ptr_nonnull(strstr(some, "with 95.5 %)"));
	final_free(final);
}
END_TEST

START_TEST(no_directory)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(final_new("/nonexistent", &error));
	ck_assert_ptr_nonnull(error);
}
END_TEST

START_TEST(lines_that_found_no_room)
{
	struct final *final = made_final();

	for (unsigned kind = 0; kind < FINAL_KINDS; kind++) {
		FILE *all = final->lists[kind].all;

		ck_assert(final_lists_whole(final));
		final->lists[kind].all = fopen("/dev/full", "w");
		final_add(final, kind, "x", "denied");
		ck_assert(!final_lists_whole(final));
		fclose(final->lists[kind].all);
		final->lists[kind].all = all;
	}
	final_free(final);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		verdicts, long_lists, sampled, no_directory, lines_that_found_no_room, NULL};

	return run_made("final", tests);
}
