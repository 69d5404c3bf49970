/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ctl/check/whole.h"

static struct survey survey;

static void verdict(enum survey_verdict wanted, const char *says)
{
	g_autofree char *text = NULL;

	survey.need = new_fs_need(&survey.target, &survey.tally, false);
	text = survey_verdict_text(&survey);
	ck_assert_msg(survey_verdict(&survey) == wanted, "%s", text);
	ck_assert_msg(strstr(text, says) != NULL, "%s", text);
}

START_TEST(go)
{
	whole_begin(&survey);
	verdict(SURVEY_GO, "Go:");
	notices_add(survey.notices, NOTE_SMB_NAME, "a", "b");
	verdict(SURVEY_GO, "Go:");
	survey.target.known = false;
	verdict(SURVEY_GO, "Go:");
	survey_clear(&survey);
}
END_TEST

START_TEST(with_losses)
{
	whole_begin(&survey);
	notices_add(survey.notices, NOTICE_ACL, "a", "b");
	verdict(SURVEY_LOSSES, "1 thing");
	survey_clear(&survey);
	whole_begin(&survey);
	survey.tally.own_used = 1000;
	survey.target.available = 5 << 20;
	verdict(SURVEY_LOSSES, "holes stay holes");
	survey_clear(&survey);
}
END_TEST

START_TEST(stop)
{
	whole_begin(&survey);
	survey.target.available = 1000;
	survey.tally.own_used = survey.tally.own_bytes;
	verdict(SURVEY_STOP, "NOT enough");
	survey.target.available = 1 << 30;
	survey.target.inodes_available = 3;
	verdict(SURVEY_STOP, "Inodes in /new");
	survey.target.inodes_available = 1000;
	notices_count(survey.notices, NOTICE_UNREAD, 4);
	verdict(SURVEY_LOSSES, "4 things");
	notices_count(survey.notices, NOTICE_UNREAD, 4);
	verdict(SURVEY_STOP, "does not let this machine read 8 of 10 files");
	survey_clear(&survey);
	whole_begin(&survey);
	survey.target.refusal = g_strdup("it is mounted read-only");
	verdict(SURVEY_STOP, "attach refuses /new: it is mounted read-only");
	g_clear_pointer(&survey.target.refusal, g_free);
	survey.target.adoption_refusal = g_strdup("/new/a: it is immutable");
	survey.target.filled = true;
	verdict(SURVEY_STOP, "attach --adopt refuses what is there: /new/a: it is immutable");
	survey.target.filled = false; /* --target: nobody said that it is to be adopted */
	verdict(SURVEY_GO, "");
	g_clear_pointer(&survey.target.adoption_refusal, g_free);
	survey.target.folds = true;
	verdict(SURVEY_STOP, "Names in /new that differ in case alone are one there");
	survey_clear(&survey);
	whole_begin(&survey);
	tally_clear(&survey.tally);
	survey.tally.types[TALLY_DIRECTORIES] = 1;
	notices_add(survey.notices, NOTICE_UNLISTED, "", "why");
	verdict(SURVEY_STOP, "does not list the root");
	survey_clear(&survey);
	whole_begin(&survey);
	tally_clear(&survey.tally);
	survey.tally.types[TALLY_DIRECTORIES] = 1;
	verdict(SURVEY_STOP, "tree is empty");
	survey_clear(&survey);
}
END_TEST

START_TEST(times)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {{0, "cannot be told"},
		     {0.3, "less than a second"},
		     {1.2, "2 s"},
		     {119, "119 s"},
		     {3601, "61 min"},
		     {7200, "2 h 0 min"},
		     {100000, "27 h 46 min"},
		     {864000 + 7200, "10 days 2 h"}};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = survey_time_text(cases[i].seconds);

		ck_assert_str_eq(text, cases[i].text);
	}
}
END_TEST

START_TEST(clocks)
{
	g_autofree char *none = NULL, *least = NULL, *between = NULL;

	whole_begin(&survey);
	none = survey_clock_text(&survey);
	ck_assert_ptr_nonnull(strstr(none, "cannot be told"));
	survey.measured.clock_by = "this";
	survey.measured.clock_least = INT64_C(-2500000000);
	survey.measured.clock_most = INT64_C(1500000000);
	between = survey_clock_text(&survey);
	ck_assert_ptr_nonnull(strstr(between, "between 2.5 s behind and 1.5 s ahead"));
	survey.measured.clock_most = INT64_MAX;
	least = survey_clock_text(&survey);
	ck_assert_ptr_nonnull(strstr(least, "at least 2.5 s"));
	survey_clear(&survey);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {go, with_losses, stop, times, clocks, NULL};

	return run_made("survey", tests);
}
