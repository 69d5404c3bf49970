/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/backend.h"
#include "tests/retriever/backend_support.h"

static unsigned seconds_since(gint64 then)
{
	return (unsigned)((g_get_monotonic_time() - then) / G_USEC_PER_SEC);
}

START_TEST(away_counts_from_the_last_answer)
{
	struct backend_watch watch = {0};
	gint64 now = g_get_monotonic_time();
	unsigned away;

	ck_assert_uint_eq(backend_watch_away(&watch), 0);
	backend_watch_begin(&watch);
	ck_assert_uint_eq(backend_watch_away(&watch), 0);
	atomic_store(&watch.since, now - 9 * G_USEC_PER_SEC);
	away = backend_watch_away(&watch);
	ck_assert_uint_ge(away, 9);
	ck_assert_uint_le(away, 9 + seconds_since(now));
	backend_watch_answer(&watch, now - 3 * G_USEC_PER_SEC);
	away = backend_watch_away(&watch);
	ck_assert_uint_ge(away, 3);
	ck_assert_uint_le(away, 3 + seconds_since(now));
	backend_watch_end(&watch);
	ck_assert_uint_eq(backend_watch_away(&watch), 0);
}
END_TEST

static void count(struct backend_request *req)
{
	gate_pass(req->user);
}

START_TEST(failures_carry_no_results)
{
	struct gate gate;
	struct backend_request req = {.done = count, .user = &gate};

	gate_init(&gate);
	backend_prepare(&req);
	req.batch = backend_batch_new();
	req.text = g_strdup("text");
	req.has_attr = req.eof = true;
	req.data_len = 5;
	backend_complete(&req, -EBADMSG);
	ck_assert_uint_eq(gate_count(&gate), 1);
	ck_assert_ptr_null(req.batch);
	ck_assert_ptr_null(req.text);
	ck_assert(!req.has_attr);
	ck_assert(!req.eof);
	ck_assert_uint_eq(req.data_len, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, away_counts_from_the_last_answer);
	tcase_add_test(tcase, failures_carry_no_results);
	return run_tcase(tcase);
}
