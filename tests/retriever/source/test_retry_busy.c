/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend_support.h"
#include "fake_backend.h"

#define MANY 200

static struct fake_backend fake;
static struct backend *retry;
static atomic_uint refusals; /* so many -EAGAIN come first, to each request */

static void setup(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.base.ops = &fake_backend_ops;
	retry = backend_retry_new(&fake.base);
}

static void teardown(void)
{
	if (retry)
		retry->ops->close(g_steal_pointer(&retry));
	ck_assert(fake.closed);
}

static int refuse(struct fake_backend *backend, struct backend_request *req)
{
	if (req->attempts < refusals) {
		req->cookie = 999; /* what a failed attempt leaves behind */
		return -EAGAIN;
	}
	return req->cookie == 5 && req->verf == 6 ? -ENOENT : -EBADMSG;
}

START_TEST(pauses_grow)
{
	struct backend_request req = {.op = BACKEND_READDIR, .cookie = 5, .verf = 6};
	gint64 start = g_get_monotonic_time(), took;

	refusals = 3;
	fake.answer = refuse;
	ck_assert_int_eq(run(retry, &req), -ENOENT);
	took = g_get_monotonic_time() - start;
	ck_assert_uint_eq(fake.submitted, 4);
	ck_assert_uint_eq(req.attempts, 3);
	ck_assert_int_ge(took, (50 + 100 + 200) * 1000);
}
END_TEST

static int make_no_sense(struct fake_backend *backend, struct backend_request *req)
{
	return backend->submitted <= refusals ? -EBADMSG : 0;
}

/* Replies that make no sense, of which so many come first. */
START_TEST(senseless_replies)
{
	struct backend_request req = {.op = BACKEND_READ};

	refusals = _i;
	fake.answer = make_no_sense;
	ck_assert_int_eq(run(retry, &req), _i > 2 ? -EBADMSG : 0);
	ck_assert_uint_eq(fake.submitted, MIN(_i, 2) + 1);
}
END_TEST

/* They may mean that the directory has changed. */
START_TEST(senseless_listings)
{
	struct backend_request req = {.op = BACKEND_READDIR};

	refusals = 1;
	fake.answer = make_no_sense;
	ck_assert_int_eq(run(retry, &req), -EBADMSG);
	ck_assert_uint_eq(fake.submitted, 1);
}
END_TEST

START_TEST(results_pass)
{
	struct backend_request req = {.op = BACKEND_GETATTR};
	g_autofree char *not_carried = retry->ops->not_carried(retry);

	ck_assert_int_eq(run(retry, &req), 0);
	ck_assert_uint_eq(fake.submitted, 1);
	ck_assert_uint_eq(retry->ops->max_read(retry), 12345);
	ck_assert_uint_eq(retry->ops->away(retry), 7);
	ck_assert_uint_eq(retry->ops->carries(retry), BACKEND_CARRIES_XATTR);
	ck_assert_str_eq(not_carried, "this and that");
}
END_TEST

static void pass(struct backend_request *req)
{
	gate_pass(req->user);
}

static struct backend_request many[MANY];
static struct gate gate;

static void submit_many(void)
{
	gate_init(&gate);
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = (struct backend_request){
			.cookie = 5, .verf = 6, .done = pass, .user = &gate};
		retry->ops->submit(retry, &many[i]);
	}
}

START_TEST(many_pause_at_once)
{
	refusals = 2;
	fake.answer = refuse;
	submit_many();
	gate_wait(&gate, MANY);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(many[i].status, -ENOENT);
	ck_assert_uint_eq(fake.submitted, 3 * MANY);
}
END_TEST

START_TEST(closing_cancels_what_pauses)
{
	gint64 start = g_get_monotonic_time();

	refusals = UINT_MAX;
	fake.answer = refuse;
	submit_many();
	retry->ops->close(g_steal_pointer(&retry));
	ck_assert_int_lt(g_get_monotonic_time() - start, 5 * G_USEC_PER_SEC);
	ck_assert_uint_eq(gate_count(&gate), MANY);
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(many[i].status, -ECANCELED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("backend_retry");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, pauses_grow);
	tcase_add_loop_test(tcase, senseless_replies, 1, 5);
	tcase_add_test(tcase, senseless_listings);
	tcase_add_test(tcase, results_pass);
	tcase_add_test(tcase, many_pause_at_once);
	tcase_add_test(tcase, closing_cancels_what_pauses);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
