/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>

#include "lib/source/suspects.h"
#include "tests/suite.h"
#include "tests/pairs.h"

static struct suspects suspects;
static struct source_object root = {.path = (char *)""};

static void init(void)
{
	memset(&suspects, 0, sizeof(suspects));
	suspects_init(&suspects);
}

static void clear(void)
{
	suspects_clear(&suspects);
}

static struct backend_request request(enum backend_op op, const char *path, const char *name)
{
	return (struct backend_request){.op = op, .object = {.path = (char *)path}, .name = name};
}

START_TEST(only_what_is_alone_is_given_up)
{
	struct backend_request req = request(BACKEND_READ, "dir/file", NULL);

	for (unsigned i = 0; i < 10; i++)
		ck_assert(!suspects_break(&suspects, &req, 1, false));
	ck_assert_uint_eq(req.backend.breaks, SUSPECT_ALONE);
	ck_assert(!suspects_break(&suspects, &req, SUSPECT_ALONE, true));
	ck_assert(!suspects_break(&suspects, &req, 0, true));
	ck_assert_int_eq(req.why, QM_NONE);
	ck_assert(suspects_break(&suspects, &req, 1, true));
	ck_assert_int_eq(req.why, QM_CONNECTION_ENDS);
}
END_TEST

START_TEST(who_asks_again_is_known)
{
	struct backend_request lookup = request(BACKEND_LOOKUP, "dir", "file");
	struct backend_request read = request(BACKEND_READ, "dir/file", NULL);
	struct backend_request other = request(BACKEND_READ, "dir/other", NULL);

	ck_assert(!suspects_break(&suspects, &lookup, SUSPECT_ALONE, false));
	ck_assert(!suspects_break(&suspects, &lookup, 1, true));
	ck_assert(suspects_break(&suspects, &lookup, 1, true));
	suspects_recall(&suspects, &read);
	ck_assert_uint_eq(read.backend.breaks, SUSPECT_LIMIT - 1);
	suspects_recall(&suspects, &other);
	ck_assert_uint_eq(other.backend.breaks, 0);
	suspects_answered(&suspects, &read, 0, 1); /* that says nothing of LOOKUP */
	suspects_recall(&suspects, &lookup);
	ck_assert_uint_eq(lookup.backend.breaks, SUSPECT_LIMIT - 1);
	suspects_answered(&suspects, &lookup, -ENOENT, 1);
	suspects_recall(&suspects, &read);
	ck_assert_uint_eq(read.backend.breaks, 0);
}
END_TEST

START_TEST(a_listing_is_known_to_its_end)
{
	struct backend_request req = request(BACKEND_READDIR, "dir", NULL);

	suspects_break(&suspects, &req, 1, false);
	suspects_answered(&suspects, &req, 0, 1);
	suspects_recall(&suspects, &req);
	ck_assert_uint_eq(req.backend.breaks, 1);
	req.eof = true;
	suspects_answered(&suspects, &req, 0, 1);
	suspects_recall(&suspects, &req);
	ck_assert_uint_eq(req.backend.breaks, 0);
}
END_TEST

START_TEST(memory_is_bounded)
{
	for (unsigned i = 0; i < SUSPECTS_MAX + 10; i++) {
		struct backend_request req = request(BACKEND_READ, NULL, NULL);

		req.object.handle_len = sizeof(i);
		memcpy(req.object.handle, &i, sizeof(i));
		suspects_break(&suspects, &req, 1, false);
		suspects_recall(&suspects, &req);
		ck_assert_uint_eq(req.backend.breaks, i < SUSPECTS_MAX);
	}
}
END_TEST

static struct trial trial = {.suspects = &suspects};

START_TEST(what_was_given_up_is_held)
{
	struct backend_request req = request(BACKEND_READ, "dir/file", NULL);
	struct backend_request lookup = request(BACKEND_LOOKUP, "dir", "file");
	struct backend_request other = request(BACKEND_READ, "dir/file", NULL);
	gint64 since = g_get_monotonic_time() - 1;

	other.offset = 4096;
	ck_assert(!suspects_break(&suspects, &req, SUSPECT_ALONE, true)); /* its first time */
	ck_assert_uint_eq(req.backend.breaks, SUSPECT_ALONE + 1);
	suspects_recall(&suspects, &req);
	ck_assert(!suspects_hold(&suspects, &req, since));
	ck_assert(suspects_break(&suspects, &req, 1, true));
	suspects_recall(&suspects, &req);
	ck_assert(!suspects_hold(&suspects, &req, g_get_monotonic_time() + 1));
	req.why = QM_NONE;
	ck_assert(suspects_hold(&suspects, &req, since));
	ck_assert_int_eq(req.why, QM_CONNECTION_ENDS);
	suspects_recall(&suspects, &lookup); /* may be answered */
	suspects_recall(&suspects, &other);
	ck_assert(!suspects_hold(&suspects, &lookup, since));
	ck_assert(!suspects_hold(&suspects, &other, since));
	suspects_break(&suspects, &lookup, 1, true); /* is not, after all */
	suspects_recall(&suspects, &other);
	ck_assert(suspects_hold(&suspects, &other, since));
	suspects_retry(&suspects);
	ck_assert(!suspects_hold(&suspects, &req, since));
	ck_assert_uint_eq(req.backend.breaks, SUSPECT_LIMIT - 1);
}
END_TEST

/* NULL: none is needed. */
static void expect_witness(const struct backend_request *req, const char *path, const char *name)
{
	struct backend_request *witness = trial_witness(&trial, req, &root);

	if (!path) {
		ck_assert_ptr_null(witness);
		return;
	}
	ck_assert_int_eq(witness->op, req->op);
	ck_assert_str_eq(witness->object.path, path);
	ck_assert_str_eq(witness->name ? witness->name : "", name);
	witness->status = -ECANCELED;
	witness->done(witness);
}

START_TEST(witnesses_are_others_that_were_answered)
{
	struct backend_request req = request(BACKEND_LOOKUP, "dir", "it");
	struct backend_request other = request(BACKEND_LOOKUP, "dir", "other");
	struct backend_request top = request(BACKEND_READDIR, "", NULL);

	trial_begin(&trial);
	expect_witness(&req, "", "any");
	suspects_answered(&suspects, &req, 0, G_USEC_PER_SEC);
	expect_witness(&req, "", "any");
	suspects_answered(&suspects, &other, -EACCES, 2 * G_USEC_PER_SEC);
	suspects_answered(&suspects, &other, 0, 2 * G_USEC_PER_SEC - 1); /* one a second */
	expect_witness(&req, "", "any");
	suspects_answered(&suspects, &other, 0, 2 * G_USEC_PER_SEC);
	for (unsigned i = 0; i < 2 * WITNESSES; i++)
		expect_witness(&req, "dir", "other");
	expect_witness(&top, NULL, NULL);
}
END_TEST

START_TEST(one_witness_of_each_kind_and_connection)
{
	struct backend_request req = request(BACKEND_LOOKUP, "dir", "it"), *witness;
	struct backend_request read = request(BACKEND_READ, "dir/it", NULL);

	trial_begin(&trial);
	witness = trial_witness(&trial, &req, &root);
	witness->status = -ENOENT;
	witness->done(witness);
	expect_witness(&req, NULL, NULL);
	expect_witness(&read, "", "");
	trial_begin(&trial);
	expect_witness(&req, "", "any");
}
END_TEST

static void recall_one(void *arg)
{
	struct backend_request req = request(BACKEND_READ, "dir/file", NULL);

	suspects_recall(arg, &req);
	suspects_hold(arg, &req, 0);
}

static void break_one(void *arg)
{
	struct backend_request req = request(BACKEND_READ, "dir/file", NULL);

	suspects_break(arg, &req, 1, true);
}

static void answer_one(void *arg)
{
	const struct backend_request req = request(BACKEND_READ, "dir/file", NULL);

	suspects_answered(arg, &req, 0, 0);
}

static void retry_all(void *arg)
{
	suspects_retry(arg);
}

START_TEST(several_threads)
{
	struct paired_call calls[] = {{recall_one, &suspects},
				      {break_one, &suspects},
				      {answer_one, &suspects},
				      {retry_all, &suspects}};

	call_in_pairs(calls, sizeof(calls) / sizeof(*calls));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("suspects");

	tcase_add_checked_fixture(tcase, init, clear);
	tcase_add_test(tcase, only_what_is_alone_is_given_up);
	tcase_add_test(tcase, who_asks_again_is_known);
	tcase_add_test(tcase, what_was_given_up_is_held);
	tcase_add_test(tcase, a_listing_is_known_to_its_end);
	tcase_add_test(tcase, memory_is_bounded);
	tcase_add_test(tcase, witnesses_are_others_that_were_answered);
	tcase_add_test(tcase, one_witness_of_each_kind_and_connection);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
