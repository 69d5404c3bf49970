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
	for (unsigned i = 0; i < NOTE_OWNERS; i++)
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

static const char *behind(const char *text, const char *what)
{
	const char *found = strstr(text, what);

	ck_assert_msg(found != NULL, "%s", what);
	return found + strlen(what);
}

/* What decides stands first. */
START_TEST(order)
{
	struct survey survey;
	g_autofree char *text = NULL;
	const char *at;

	whole_begin(&survey);
	whole_lose(&survey);
	survey.target.filled = true;
	survey.brings = g_strdup("With ?version=4.2 in the source would come: ACLs");
	text = shown(&survey);
	at = behind(text, "Check of ");
	at = behind(at, "\n\nGo with losses: ");
	at = behind(at, "; but /new is not empty: attach refuses that, unless --adopt ");
	at = behind(at, "\nWhat cannot come as it is\n");
	at = behind(at, "With ?version=4.2 in the source would come: ACLs\n");
	at = behind(at, "\nThe new file system\n");
	at = behind(at, "\nWhat is worth knowing\n");
	at = behind(at, "\nWhat there is\n");
	behind(at, "\nLongest paths, in bytes: one of each directory\n");
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
	const TTest *const tests[] = {hostile, nothing_lost, order, full, NULL};

	return run_made("show_text", tests);
}
