/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"
#include "tests/pairs.h"

#include "retriever/progress/history.h"

static struct core core;

static const struct history_point *point(struct history *history, guint i)
{
	ck_assert_uint_lt(i, history->points->len);
	return &g_array_index(history->points, struct history_point, i);
}

static void add(struct history *history, gint64 time, gint64 whole)
{
	const struct history_point p = {time, 1000000, whole, 0, 0};

	history_add(history, &p);
}

/* Years of minutes: as few as promised, in order, from the first to the last. */
START_TEST(bounded)
{
	struct history *history = history_new();
	gint64 last = 0;

	for (gint64 i = 0; i < 500000; i++) {
		add(history, 1000 + i * HISTORY_INTERVAL, i);
		ck_assert_uint_le(history->points->len, HISTORY_MAX);
	}
	ck_assert_uint_gt(history->points->len, HISTORY_MAX / 3);
	ck_assert_int_lt(point(history, 0)->objects_whole, 1024);
	last = point(history, history->points->len - 1)->objects_whole;
	ck_assert_int_gt(last, 500000 - 2 * history->interval / HISTORY_INTERVAL);
	for (guint i = 1; i < history->points->len; i++)
		ck_assert_int_gt(point(history, i)->time, point(history, i - 1)->time);
	for (guint i = 1; i < history->points->len; i++)
		ck_assert_int_le(point(history, i)->time - point(history, i - 1)->time,
				 2 * history->interval);
	history_free(history);
}
END_TEST

/* One in an interval; none while the clock is behind; standing still takes two. */
START_TEST(spared)
{
	struct history *history = history_new();

	add(history, 1000, 1);
	add(history, 1000 + HISTORY_INTERVAL - 1, 2);
	ck_assert_uint_eq(history->points->len, 1);
	add(history, 10, 2);
	ck_assert_uint_eq(history->points->len, 1);
	for (unsigned i = 1; i < 50; i++)
		add(history, 1000 + i * HISTORY_INTERVAL, 2);
	ck_assert_uint_eq(history->points->len, 3);
	ck_assert_int_eq(point(history, 2)->time, 1000 + 49 * HISTORY_INTERVAL);
	history_free(history);
}
END_TEST

/* What is read is what was written; of damage the good lines, and never more than the limit. */
START_TEST(damaged)
{
	struct history *history = history_new(), *other = history_new();
	g_autofree char *text = NULL, *again = NULL;
	GString *many = g_string_new("interval 999999999999\n");

	history->interval = 240;
	for (unsigned i = 0; i < 20; i++)
		add(history, 1000 + i * 240, i);
	text = history_text(history, NULL);
	history_parse(other, text);
	again = history_text(other, NULL);
	ck_assert_str_eq(text, again);
	for (size_t cut = 0; cut < strlen(text); cut++) {
		g_autofree char *part = g_strndup(text, cut);

		history_parse(other, part);
		ck_assert_uint_le(other->points->len, 20);
	}
	history_parse(other, "interval x\n5 1 1 1 1\n7 1 1 1\n6 2 2 2 2 2\n-9 1 1 1 1\n8 1 1 1 1\n"
			     "7 1 1 1 1\n\xff\n9 9 9 9 9");
	ck_assert_uint_eq(other->points->len, 3);
	ck_assert_int_eq(other->interval, HISTORY_INTERVAL);
	for (unsigned i = 0; i < 5 * HISTORY_MAX; i++)
		g_string_append_printf(many, "%u %u 0 0 0\n", i, i);
	history_parse(other, many->str);
	ck_assert_uint_le(other->points->len, HISTORY_MAX);
	ck_assert_int_gt(other->interval, 0);
	g_string_free(many, TRUE);
	history_free(other);
	history_free(history);
}
END_TEST

/* Of a volume: over a restart, and beside the report after the end. */
START_TEST(of_a_volume)
{
	g_autofree char *kept = NULL, *text = NULL;
	struct retriever *r;

	core_make(&core);
	core_open(&core);
	r = core.retriever;
	history_sample(r);
	ck_assert_uint_eq(r->history->points->len, 0); /* nothing is attached */
	core_attach(&core);
	ck_assert_int_eq(point(r->history, 0)->objects_found, 1); /* the beginning */
	history_reset(r);
	COUNT_SET(r, files_found, 7);
	history_sample(r);
	COUNT_SET(r, files_found, 9);
	history_sample(r);
	ck_assert_uint_eq(r->history->points->len, 1);
	ck_assert_int_eq(point(r->history, 0)->objects_found, 1 + 7);
	history_save(r);
	history_reset(r);
	ck_assert_uint_eq(r->history->points->len, 0);
	history_load(r);
	ck_assert_uint_eq(r->history->points->len, 1);
	g_free(r->config->report);
	r->config->report = g_strconcat(core.dir, "/kept.report", NULL);
	ck_assert_int_eq(history_keep(r), 0);
	kept = g_strconcat(r->config->report, HISTORY_KEPT, NULL);
	ck_assert(g_file_get_contents(kept, &text, NULL, NULL));
	history_parse(r->history, text);
	ck_assert_uint_eq(r->history->points->len, 2);
	ck_assert_int_eq(point(r->history, 1)->objects_found, 1 + 9);
	core_free(&core);
}
END_TEST

static void add_point(void *arg)
{
	static gint time = 1; /* intervals */

	add(arg, g_atomic_int_add(&time, 1) * HISTORY_INTERVAL, 1);
}

static void write_text(void *arg)
{
	size_t len;

	g_free(history_text(arg, &len));
}

static void keep_text(void *arg)
{
	ck_assert_int_eq(history_keep(arg), 0);
}

static void save_text(void *arg)
{
	history_save(arg);
}

static void parse_text(void *arg)
{
	history_parse(arg, "");
}

START_TEST(several_threads)
{
	struct history *history = history_new();
	struct paired_call calls[] = {
		{add_point, history}, {write_text, history}, {parse_text, history}};

	call_in_pairs(calls, G_N_ELEMENTS(calls));
	history_free(history);
}
END_TEST

START_TEST(several_threads_of_a_volume)
{
	core_make(&core);
	core_open(&core);
	core_attach(&core);
	g_free(core.retriever->config->report);
	core.retriever->config->report = g_strconcat(core.dir, "/kept.report", NULL);
	{
		struct paired_call add = {add_point, core.retriever->history};
		struct paired_call keep = {keep_text, core.retriever};
		struct paired_call save = {save_text, core.retriever};

		call_beside(&add, &keep);
		call_beside(&add, &save);
		call_beside(&save, &keep);
	}
	core_free(&core);
}
END_TEST

static atomic_int saver; /* its thread's id */

static void *save_beside(void *arg)
{
	saver = gettid();
	history_save(arg);
	return NULL;
}

static bool saver_waits(void)
{
	g_autofree char *path = g_strdup_printf("/proc/self/task/%d/stat", saver), *text = NULL;

	return saver && g_file_get_contents(path, &text, NULL, NULL) &&
	       g_str_has_prefix(strrchr(text, ')'), ") S");
}

/* While a save waits for another one its text grows older. */
START_TEST(the_newest_is_stored)
{
	struct retriever *r;
	pthread_t thread;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	r = core.retriever;
	history_reset(r);
	add(r->history, 1000, 1);
	g_mutex_lock(&r->save_lock);
	ck_assert_int_eq(pthread_create(&thread, NULL, save_beside, r), 0);
	while (!saver_waits())
		sched_yield();
	add(r->history, 1000 + HISTORY_INTERVAL, 2);
	g_mutex_unlock(&r->save_lock);
	pthread_join(thread, NULL);
	history_reset(r);
	history_load(r);
	ck_assert_uint_eq(r->history->points->len, 2);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("history", 60);

	tcase_add_test(tcase, the_newest_is_stored);
	tcase_add_test(tcase, bounded);
	tcase_add_test(tcase, spared);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, of_a_volume);
	tcase_add_test(tcase, several_threads);
	tcase_add_test(tcase, several_threads_of_a_volume);
	return run_tcase(tcase);
}
