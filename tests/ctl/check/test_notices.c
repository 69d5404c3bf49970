/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/notices.h"
#include "tests/ctl/report/made.h"
#include "tests/retriever/core_tsan.h"
#include "tests/pairs.h"

START_TEST(counted)
{
	struct notices *notices = notices_new();

	for (unsigned i = 0; i < NOTICES_SHOWN + 5; i++)
		notices_add(notices, NOTICE_ACL, "a/b", "why");
	notices_count(notices, NOTICE_UNREAD, 7);
	notices_add(notices, NOTE_BUSY, "c", "open");
	ck_assert_uint_eq(notices_total(notices, NOTICE_ACL), NOTICES_SHOWN + 5);
	ck_assert_uint_eq(notices_first(notices, NOTICE_ACL)->len, NOTICES_SHOWN);
	ck_assert_uint_eq(notices_total(notices, NOTICE_UNREAD), 7);
	ck_assert_uint_eq(notices_first(notices, NOTICE_UNREAD)->len, 0);
	ck_assert_uint_eq(notices_sum(notices), NOTICES_SHOWN + 5 + 7);
	notices_free(notices);
}
END_TEST

/* What holds for many objects is one line, and counts once. */
START_TEST(by_text)
{
	struct notices *notices = notices_new();
	const struct notice_line *line;

	for (unsigned i = 0; i < 30; i++) {
		notices_add(notices, NOTICE_VOLUME, "x", "owners: S-1-5-21-1 is nobody here");
		notices_add(notices, NOTICE_VOLUME, "y", i % 2 ? "a" : "b");
	}
	ck_assert_uint_eq(notices_first(notices, NOTICE_VOLUME)->len, 3);
	line = notices_first(notices, NOTICE_VOLUME)->pdata[0];
	ck_assert_uint_eq(line->count, 30);
	ck_assert_str_eq(line->path, "");
	ck_assert_uint_eq(notices_sum(notices), 3);
	notices_free(notices);
}
END_TEST

START_TEST(kinds)
{
	for (unsigned i = 0; i < NOTICE_KINDS; i++) {
		ck_assert_ptr_nonnull(notice_key(i));
		ck_assert_ptr_nonnull(notice_title(i));
		for (unsigned j = 0; j < i; j++)
			ck_assert_str_ne(notice_key(i), notice_key(j));
	}
	ck_assert_int_eq(notice_of_loss(LOSS_XATTR, "the stream a"), NOTICE_STREAM);
	ck_assert_int_eq(notice_of_loss(LOSS_XATTR, "user.a"), NOTICE_XATTR);
	ck_assert_int_eq(notice_of_loss(LOSS_VOLUME, ""), NOTICE_VOLUME);
}
END_TEST

/* Owners are many, and none is left out where another kind ends. */
START_TEST(many_owners)
{
	struct notices *notices = notices_new(), *again = notices_new();
	g_autoptr(GKeyFile) state = g_key_file_new();

	for (unsigned i = 0; i < 2 * (NOTICES_SHOWN + 1); i++) {
		g_autofree char *text = g_strdup_printf("user %u", i / 2);

		notices_add(notices, NOTE_OWNERS, "", text);
	}
	ck_assert_uint_eq(notices_first(notices, NOTE_OWNERS)->len, NOTICES_SHOWN + 1);
	notices_save(notices, state);
	ck_assert(notices_load(again, state));
	ck_assert_uint_eq(notices_first(again, NOTE_OWNERS)->len, NOTICES_SHOWN + 1);
	ck_assert_uint_eq(notices_total(again, NOTE_OWNERS), 2 * (NOTICES_SHOWN + 1));
	notices_free(notices);
	notices_free(again);
}
END_TEST

START_TEST(kept)
{
	struct notices *notices = notices_new(), *again = notices_new();
	g_autoptr(GKeyFile) state = g_key_file_new(), read = g_key_file_new();
	g_autofree char *text = NULL;
	const struct notice_line *line;

	notices_add(notices, NOTICE_NAME, HOSTILE, "a;b\tc\n\\");
	notices_add(notices, NOTICE_VOLUME, "", "one");
	notices_add(notices, NOTICE_VOLUME, "", "one");
	notices_count(notices, NOTICE_NAME, 41);
	notices_add_rule(notices, "exclude = *.tmp", 7);
	notices_add_rule(notices, "exclude = *.tmp", UINT64_C(1) << 40);
	notices_save(notices, state);
	text = g_key_file_to_data(state, NULL, NULL);
	ck_assert(g_key_file_load_from_data(read, text, (gsize)-1, G_KEY_FILE_NONE, NULL));
	ck_assert(notices_load(again, read));
	line = notices_first(again, NOTE_RULE)->pdata[0];
	ck_assert_str_eq(line->text, "exclude = *.tmp");
	ck_assert_uint_eq(line->count, 2);
	ck_assert_uint_eq(line->bytes, (UINT64_C(1) << 40) + 7);
	ck_assert_uint_eq(notices_total(again, NOTICE_NAME), 42);
	line = notices_first(again, NOTICE_NAME)->pdata[0];
	ck_assert_str_eq(line->path, HOSTILE);
	ck_assert_str_eq(line->text, "a;b\tc\n\\");
	notices_add(again, NOTICE_VOLUME, "", "one");
	line = notices_first(again, NOTICE_VOLUME)->pdata[0];
	ck_assert_uint_eq(line->count, 3);
	notices_free(notices);
	notices_free(again);
}
END_TEST

START_TEST(damaged)
{
	static const char *const lines[] = {"", "x", "1", "0\ta\tb", "-1\ta\tb", "z\ta\tb"};

	for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
		struct notices *notices = notices_new();
		g_autoptr(GKeyFile) state = g_key_file_new();

		notices_save(notices, state);
		g_key_file_set_string_list(state, "losses", "name-first", &lines[i], 1);
		ck_assert_msg(!notices_load(notices, state), "%s", lines[i]);
		notices_free(notices);
	}
}
END_TEST

static void add_one(void *notices)
{
	notices_add(notices, NOTICE_ACL, "a", "why");
	notices_add(notices, NOTICE_VOLUME, "x", "a");
}

static void count_more(void *notices)
{
	notices_count(notices, NOTICE_ACL, 7);
}

static void total_of_one(void *notices)
{
	notices_total(notices, NOTICE_ACL);
}

static void sum_up(void *notices)
{
	notices_sum(notices);
}

START_TEST(several_threads)
{
	struct notices *notices = notices_new();
	struct paired_call calls[] = {{add_one, notices},
				      {count_more, notices},
				      {total_of_one, notices},
				      {sum_up, notices}};

	call_in_pairs(calls, G_N_ELEMENTS(calls));
	notices_free(notices);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {counted, by_text, kinds,		 many_owners,
				      kept,    damaged, several_threads, NULL};

	return run_made("notices", tests);
}
