/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/measure.h"
#include "lib/config/calendar.h"
#include "tests/ctl/check/surveyed.h"

static struct made_walk made;
static struct measured measured;
static int64_t atime_step; /* ns: what a read moves the atime to, from now */
static bool moves, fails;

static int answer(struct fake_backend *fake, struct backend_request *req)
{
	static int64_t atime;

	if (fails)
		return -EACCES;
	if (req->op == BACKEND_READ && moves)
		atime = g_get_real_time() * 1000 + atime_step;
	req->has_attr = true;
	req->attr.atime = atime;
	req->data = (const uint8_t *)"";
	req->data_len = req->count;
	return 0;
}

static void run(unsigned small, unsigned large)
{
	struct source_object root = {.path = ""};
	struct measure measure = {.samples = &made.samples, .root = &root, .max_read = 1 << 20};
	struct source_entry entry = {.attr = {.mode = S_IFREG, .size = 1000}};

	made_walk_begin(&made, NULL, 0);
	made.fake.answer = answer;
	measure.gate = made.walk.gate;
	for (unsigned i = 0; i < small; i++)
		samples_offer(&made.samples, "small", &entry);
	entry.attr.size = 64 << 20;
	for (unsigned i = 0; i < large; i++)
		samples_offer(&made.samples, "large", &entry);
	measure_run(&measure, &made.tally, &measured);
	made_walk_end(&made);
}

START_TEST(rates)
{
	run(100, 3);
	ck_assert_double_gt(measured.round_trip, 0);
	ck_assert_uint_eq(measured.small_files, 100);
	ck_assert_double_gt(measured.small_rate, 0);
	ck_assert_uint_eq(measured.bytes, 3 * (UINT64_C(16) << 20));
	ck_assert_double_gt(measured.byte_rate, 0);
	ck_assert_uint_eq(measured.failed, 0);
	ck_assert_ptr_null(measured.clock_by);
}
END_TEST

/* An empty tree, and one of which nothing can be read. */
START_TEST(nothing)
{
	run(0, 0);
	ck_assert_double_eq(measured.small_rate, 0);
	ck_assert_double_eq(measured.byte_rate, 0);
	fails = true;
	run(10, 1);
	ck_assert_double_eq(measured.round_trip, 0);
	ck_assert_double_eq(measured.small_rate, 0);
	ck_assert_uint_ge(measured.failed, 11);
}
END_TEST

/* A read moves the atime: what it is moved to is the time there. */
START_TEST(clocks)
{
	static const int64_t steps[] = {0, INT64_C(100000000000), INT64_C(-100000000000)};

	moves = true;
	for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
		atime_step = steps[i];
		run(20, 0);
		ck_assert_ptr_nonnull(measured.clock_by);
		ck_assert_int_le(measured.clock_least, steps[i]);
		ck_assert_int_ge(measured.clock_most, steps[i]);
		ck_assert_int_le(measured.clock_most - measured.clock_least, INT64_C(10000000000));
	}
}
END_TEST

/* What was changed later than now tells how far ahead a clock is at least. */
START_TEST(newest)
{
	struct source_object root = {.path = ""};
	struct measure measure;

	made_walk_begin(&made, NULL, 0);
	made.fake.answer = answer;
	measure = (struct measure){made.walk.gate, &made.samples, &root, .max_read = 4096};
	made.tally.newest = INT64_C(2000000000000);
	made.tally.newest_seen = INT64_C(1000000000000);
	measure_run(&measure, &made.tally, &measured);
	ck_assert_ptr_nonnull(measured.clock_by);
	ck_assert_int_eq(measured.clock_least, INT64_C(1000000000000));
	ck_assert_int_eq(measured.clock_most, INT64_MAX);
	made.tally.newest = made.tally.newest_seen;
	measure_run(&measure, &made.tally, &measured);
	ck_assert_ptr_null(measured.clock_by);
	measure.has_clock = true; /* it tells */
	measure.clock_ahead = INT64_C(-7000000000);
	measure_run(&measure, &made.tally, &measured);
	ck_assert_ptr_nonnull(measured.clock_by);
	ck_assert_int_eq(measured.clock_least, INT64_C(-8000000000));
	ck_assert_int_eq(measured.clock_most, INT64_C(-6000000000));
	made_walk_end(&made);
}
END_TEST

/* As the manual has it. */
START_TEST(estimates)
{
	struct tally tally = {.types = {[TALLY_FILES] = 1000000},
			      .bytes = 100000000000,
			      .small = 900000,
			      .small_bytes = 1000000000};
	const struct measured m = {.small_rate = 1000, .byte_rate = 1e8};
	struct measured none = {0}, busy = m;
	struct volume_config config = {0};
	struct passed passed = {5000, 40000, 1000000, &config};
	struct estimate estimate = measure_estimate(&tally, &m, &passed, 0);

	ck_assert_double_eq_tol(estimate.names, 200, 0.1);
	ck_assert_double_eq_tol(estimate.data, 900 + 990, 0.1);
	ck_assert_double_eq_tol(estimate.crawl, 200 + 900 + 990, 0.1);
	ck_assert_double_eq_tol(estimate.again, 200, 0.1);
	ck_assert_double_eq(estimate.widest, 0);
	passed.objects_rate = 1e9; /* what is made here takes its time */
	estimate = measure_estimate(&tally, &m, &passed, 0);
	ck_assert_double_eq_tol(estimate.names, 25, 0.1);
	busy.busy = 40; /* all the more where it is busy */
	estimate = measure_estimate(&tally, &busy, &passed, 0);
	ck_assert_double_eq_tol(estimate.names, 1000, 0.1);
	ck_assert_double_eq_tol(estimate.data, 1800 + 990, 0.1);
	tally_listed(&tally, "wide", 1000000, 0, 300);
	ck_assert_double_eq_tol(measure_estimate(&tally, &m, &passed, 0).widest, 300, 0.1);
	estimate = measure_estimate(&tally, &none, &passed, 0);
	ck_assert_double_eq(estimate.data, 0);
	ck_assert_double_eq(estimate.crawl, 0);
	tally_clear(&tally);
}
END_TEST

/* Whatever limits it makes it longer; nothing makes it shorter. */
START_TEST(limits)
{
	struct tally tally = {.types = {[TALLY_FILES] = 1000000},
			      .bytes = 100000000000,
			      .small = 900000,
			      .small_bytes = 1000000000};
	const struct measured m = {.small_rate = 1000, .byte_rate = 1e8};
	struct volume_config config = {.bandwidth = 10000000};
	const struct passed passed = {5000, 40000, 1000000, &config};
	struct estimate estimate = measure_estimate(&tally, &m, &passed, 0);

	ck_assert_double_eq_tol(estimate.data, 10000, 0.1);
	ck_assert_double_eq_tol(estimate.names, 200, 0.1);
	config = (struct volume_config){.server = {.bandwidth = 10000000}};
	ck_assert_double_eq_tol(measure_estimate(&tally, &m, &passed, 0).data, 10000, 0.1);
	config = (struct volume_config){.bandwidth = 1000000000, .requests = 1000000};
	ck_assert_double_eq_tol(measure_estimate(&tally, &m, &passed, 0).data, 900 + 990, 0.1);
	config = (struct volume_config){.requests = 100};
	estimate = measure_estimate(&tally, &m, &passed, 0);
	ck_assert_double_eq_tol(estimate.names, 400, 0.1);
	ck_assert_double_eq_tol(estimate.again, 400, 0.1);
	ck_assert_double_eq_tol(estimate.data, 9000 + 990, 0.1);
	ck_assert_double_eq_tol(estimate.crawl, 400 + 9000 + 990, 0.1);
	config = (struct volume_config){.server = {.requests = 100}};
	ck_assert_double_eq_tol(measure_estimate(&tally, &m, &passed, 0).names, 400, 0.1);
	config.server.limits = calendar_parse("00:00-24:00 pause", NULL);
	ck_assert_double_eq(measure_estimate(&tally, &m, &passed, 0).names, 0);
	calendar_free(config.server.limits);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {rates, nothing, clocks, newest, estimates, limits, NULL};

	return run_made("measure", tests);
}
