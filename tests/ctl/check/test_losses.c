/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/losses.h"
#include "tests/ctl/report/made.h"

START_TEST(counted)
{
	struct losses *losses = losses_new();

	for (unsigned i = 0; i < LOSSES_SHOWN + 5; i++)
		losses_add(losses, LOSS_ACL, "a/b", "why");
	losses_count(losses, LOSS_UNREAD, 7);
	losses_add(losses, NOTE_BUSY, "c", "open");
	ck_assert_uint_eq(losses_total(losses, LOSS_ACL), LOSSES_SHOWN + 5);
	ck_assert_uint_eq(losses_first(losses, LOSS_ACL)->len, LOSSES_SHOWN);
	ck_assert_uint_eq(losses_total(losses, LOSS_UNREAD), 7);
	ck_assert_uint_eq(losses_first(losses, LOSS_UNREAD)->len, 0);
	ck_assert_uint_eq(losses_sum(losses), LOSSES_SHOWN + 5 + 7);
	losses_free(losses);
}
END_TEST

/* What holds for many objects is one line, and counts once. */
START_TEST(by_text)
{
	struct losses *losses = losses_new();
	const struct loss_line *line;

	for (unsigned i = 0; i < 30; i++) {
		losses_add(losses, LOSS_VOLUME, "x", "owners: S-1-5-21-1 is nobody here");
		losses_add(losses, LOSS_VOLUME, "y", i % 2 ? "a" : "b");
	}
	ck_assert_uint_eq(losses_first(losses, LOSS_VOLUME)->len, 3);
	line = losses_first(losses, LOSS_VOLUME)->pdata[0];
	ck_assert_uint_eq(line->count, 30);
	ck_assert_str_eq(line->path, "");
	ck_assert_uint_eq(losses_sum(losses), 3);
	losses_free(losses);
}
END_TEST

START_TEST(kinds)
{
	for (unsigned i = 0; i < LOSS_KINDS; i++) {
		ck_assert_ptr_nonnull(loss_key(i));
		ck_assert_ptr_nonnull(loss_title(i));
		for (unsigned j = 0; j < i; j++)
			ck_assert_str_ne(loss_key(i), loss_key(j));
	}
	ck_assert_int_eq(loss_of_report(REPORT_XATTR, "the stream a"), LOSS_STREAM);
	ck_assert_int_eq(loss_of_report(REPORT_XATTR, "user.a"), LOSS_XATTR);
	ck_assert_int_eq(loss_of_report(REPORT_VOLUME, ""), LOSS_VOLUME);
}
END_TEST

START_TEST(kept)
{
	struct losses *losses = losses_new(), *again = losses_new();
	g_autoptr(GKeyFile) state = g_key_file_new(), read = g_key_file_new();
	g_autofree char *text = NULL;
	const struct loss_line *line;

	losses_add(losses, LOSS_NAME, HOSTILE, "a;b\tc\n\\");
	losses_add(losses, LOSS_VOLUME, "", "one");
	losses_add(losses, LOSS_VOLUME, "", "one");
	losses_count(losses, LOSS_NAME, 41);
	losses_save(losses, state);
	text = g_key_file_to_data(state, NULL, NULL);
	ck_assert(g_key_file_load_from_data(read, text, (gsize)-1, G_KEY_FILE_NONE, NULL));
	ck_assert(losses_load(again, read));
	ck_assert_uint_eq(losses_total(again, LOSS_NAME), 42);
	line = losses_first(again, LOSS_NAME)->pdata[0];
	ck_assert_str_eq(line->path, HOSTILE);
	ck_assert_str_eq(line->text, "a;b\tc\n\\");
	losses_add(again, LOSS_VOLUME, "", "one");
	line = losses_first(again, LOSS_VOLUME)->pdata[0];
	ck_assert_uint_eq(line->count, 3);
	losses_free(losses);
	losses_free(again);
}
END_TEST

START_TEST(damaged)
{
	static const char *const lines[] = {"", "x", "1", "0\ta\tb", "-1\ta\tb", "z\ta\tb"};

	for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
		struct losses *losses = losses_new();
		g_autoptr(GKeyFile) state = g_key_file_new();

		losses_save(losses, state);
		g_key_file_set_string_list(state, "losses", "name-first", &lines[i], 1);
		ck_assert_msg(!losses_load(losses, state), "%s", lines[i]);
		losses_free(losses);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {counted, by_text, kinds, kept, damaged, NULL};

	return run_made("losses", tests);
}
