/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/server_clock.h"

#include "tests/retriever/backend_support.h"
#include "tests/retriever/core_tsan.h"
#include "tests/pairs.h"

#define SECOND INT64_C(1000000000)
#define US     INT64_C(1000000) /* of a second */

static struct server_clock *made;
static int64_t here; /* this machine's clock, a whole second */

static void start(void)
{
	made = g_new0(struct server_clock, 1);
	g_mutex_init(&made->lock);
	here = g_get_real_time() / US * SECOND;
}

/* Whether an object with that ctime is unsettled where it was asked for and answered then. */
static bool judged(int64_t ctime, gint64 sent, gint64 answered)
{
	struct backend_request req = {.op = BACKEND_GETATTR, .attr = {.ctime = ctime}};

	server_clock_judge(made, &req, sent, answered);
	return req.attr.unsettled;
}

START_TEST(fine_times)
{
	start();
	for (int64_t t = here - 5 * SECOND; t < here + 5 * SECOND; t += SECOND)
		ck_assert(!judged(t + 123456789, 0, 0));
	ck_assert_int_eq(made->newest, 0);
	g_free(made);
}
END_TEST

/* It goes on, whether anybody changes anything or not. */
START_TEST(coarse_times)
{
	const int64_t t = here - 1000 * SECOND;

	start();
	ck_assert(judged(t, 1 * US, 1 * US));
	ck_assert(judged(t, 3 * US, 3 * US));
	ck_assert(judged(t - 2 * SECOND, 1 * US, 3 * US)); /* asked long before the answer */
	ck_assert(!judged(t, 5 * US, 5 * US));
	ck_assert(judged(t + 2 * SECOND, 5 * US, 5 * US));
	ck_assert(!judged(t - 5 * SECOND, 1 * US, 5 * US));
	ck_assert(judged(t + 60 * SECOND, 5 * US, 5 * US)); /* something was changed */
	ck_assert(!judged(t + 50 * SECOND, 5 * US, 5 * US));
	/* two clocks may drift apart */
	ck_assert(
		judged(t + 60 * SECOND + 100000 * SECOND - 50 * SECOND, 100005 * US, 100005 * US));
	g_free(made);
}
END_TEST

/* Hours behind, hours ahead: what this machine's clock says is no answer. */
START_TEST(another_clock)
{
	for (int64_t hours = -30; hours <= 30; hours += 10) {
		int64_t now;

		start();
		now = here + hours * 3600 * SECOND;
		judged(now - 7200 * SECOND, 1 * US, 1 * US);
		ck_assert(judged(now, 2 * US, 2 * US));
		ck_assert(judged(now - SECOND, 2 * US, 2 * US));
		if (hours < 0)
			ck_assert(!judged(now, 6 * US, 6 * US));
		g_free(made);
	}
}
END_TEST

/* A ctime of a clock that was wrong, or a mtime that stands for it. */
START_TEST(years_ahead)
{
	const int64_t far = here + 3650 * 86400 * SECOND;
	struct backend_request req = {.op = BACKEND_GETATTR,
				      .attr = {.ctime = far, .no_ctime = true}};

	start();
	ck_assert(judged(far, 1 * US, 1 * US));
	ck_assert(judged(here - SECOND, 2 * US, 2 * US));
	server_clock_judge(made, &req, 2 * US, 2 * US);
	ck_assert(!req.attr.unsettled);
	g_free(made);
}
END_TEST

START_TEST(listings)
{
	struct backend_request req = {.op = BACKEND_READDIR, .batch = backend_batch_new()};
	struct source_entry entry = {.has_attr = true};
	const struct source_entry *found;

	start();
	for (unsigned i = 0; i < 10; i++) {
		g_autofree char *name = g_strdup_printf("f%u", i);

		entry.attr.ctime = here - (100 - i) * SECOND;
		ck_assert(backend_batch_add(req.batch, name, strlen(name), &entry));
	}
	server_clock_judge(made, &req, 0, 0);
	found = (const struct source_entry *)req.batch->entries->data;
	for (unsigned i = 0; i < 10; i++)
		ck_assert_int_eq(found[i].attr.unsettled, i > 6);
	backend_batch_free(req.batch);
	g_free(made);
}
END_TEST

static void judge_one(void *arg)
{
	(void)arg;
	judged(here, 1 * US, 1 * US);
}

START_TEST(several_threads)
{
	struct paired_call call = {judge_one, NULL};

	start();
	call_in_pairs(&call, 1);
	g_free(made);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, fine_times);
	tcase_add_test(tcase, coarse_times);
	tcase_add_test(tcase, another_clock);
	tcase_add_test(tcase, years_ahead);
	tcase_add_test(tcase, listings);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
