/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/show.h"
#include "tests/ctl/check/whole.h"

static char *shown(const struct survey *survey)
{
	g_autofree char *path = made_path("text");
	FILE *out = fopen(path, "w");
	char *text;

	ck_assert(show_text(out, survey));
	fclose(out);
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* What comes from the old server does not reach a terminal as it is. */
START_TEST(hostile)
{
	struct survey survey;
	g_autofree char *text = NULL;

	whole_begin(&survey);
	whole_lose(&survey);
	text = shown(&survey);
	ck_assert_ptr_null(strchr(text, '\x1b'));
	ck_assert(g_utf8_validate(text, -1, NULL));
	for (unsigned i = 0; i < NOTICE_KINDS; i++)
		ck_assert_msg(strstr(text, notice_title(i)) != NULL, "%s", notice_title(i));
	ck_assert_ptr_nonnull(strstr(text, "and that"));
	ck_assert_ptr_nonnull(strstr(text, "mkfs.ext4 -I 256"));
	survey_clear(&survey);
}
END_TEST

START_TEST(nothing_lost)
{
	struct survey survey;
	g_autofree char *text = NULL;

	whole_begin(&survey);
	survey.share = WALK_ALL / 100;
	text = shown(&survey);
	ck_assert_ptr_nonnull(strstr(text, "nothing that was found"));
	ck_assert_ptr_nonnull(strstr(text, "Of 1 % of the files"));
	survey_clear(&survey);
}
END_TEST

START_TEST(full)
{
	struct survey survey;
	FILE *out = fopen("/dev/full", "w");

	whole_begin(&survey);
	ck_assert(!show_text(out, &survey));
	fclose(out);
	survey_clear(&survey);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {hostile, nothing_lost, full, NULL};

	return run_made("show_text", tests);
}
