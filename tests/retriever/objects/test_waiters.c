/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/objects/errors.h"
#include "retriever/objects/waiters.h"

#define SIZE 10000

static struct core core;
static struct object *object;

struct answer {
	unsigned n;
	int status;
};

static void answered(void *arg, int status)
{
	struct answer *answer = arg;

	answer->n++;
	answer->status = status;
}

static void start(void)
{
	int fd = core_with_file(&core, SIZE, O_RDWR);

	ck_assert_int_eq(object_get(core.retriever, fd, &object), 0);
	close(fd);
}

static void stop(void)
{
	ck_assert_int_eq(COUNT_GET(core.retriever, demand_waiting), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, background_waiting), 0);
	migrate_extents_clear(&file_of(object)->filled);
	object_unref(object);
	core_free(&core);
}

static void add(uint64_t begin, uint64_t end, bool background, struct answer *answer)
{
	*answer = (struct answer){0};
	g_mutex_lock(&object->lock);
	waiters_add(object, begin, end, background, answered, answer);
	g_mutex_unlock(&object->lock);
}

/* [begin, end) has come. */
static void bring(uint64_t begin, uint64_t end)
{
	GQueue waiters = G_QUEUE_INIT;

	g_mutex_lock(&object->lock);
	migrate_extents_add(&file_of(object)->filled, begin, end);
	waiters_take(object, &waiters);
	g_mutex_unlock(&object->lock);
	waiters_run(core.retriever, &waiters, 0);
}

static void expect(const struct answer *answer, int status)
{
	ck_assert_uint_eq(answer->n, 1);
	ck_assert_int_eq(answer->status, status);
}

START_TEST(answered_when_the_range_is_here)
{
	struct answer part, other, all;

	start();
	add(0, 100, false, &part);
	add(50, 200, false, &other);
	add(0, INT64_MAX, true, &all);
	ck_assert_int_eq(COUNT_GET(core.retriever, demand_waiting), 2);
	ck_assert_int_eq(COUNT_GET(core.retriever, background_waiting), 1);
	bring(0, 199);
	expect(&part, 0);
	ck_assert_uint_eq(other.n, 0);
	bring(199, SIZE);
	expect(&other, 0);
	expect(&all, 0);
	stop();
}
END_TEST

START_TEST(a_failure_is_told_to_all)
{
	struct answer demand, background;

	start();
	add(0, 100, false, &demand);
	add(0, INT64_MAX, true, &background);
	object_fail(object, -EACCES, QM_READ_FAILED);
	expect(&demand, -EACCES);
	expect(&background, -EACCES);
	ck_assert_int_eq(object->record.error, EACCES); /* I12 */
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	stop();
}
END_TEST

/* The end of the retriever is no error of the file's. */
START_TEST(what_is_given_up_is_not_listed)
{
	struct answer answer;

	start();
	add(0, 100, false, &answer);
	object_fail(object, -ECANCELED, QM_READ_FAILED);
	expect(&answer, -ECANCELED);
	ck_assert_int_eq(object->record.error, 0);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	stop();
}
END_TEST

static bool is_none(const struct backend_request *req, const void *of)
{
	return false;
}

START_TEST(cancelled)
{
	struct answer one, other;

	start();
	add(0, 100, false, &one);
	add(0, 100, true, &other);
	ck_assert(waiters_cancel(object, &one, is_none));
	expect(&one, -ECANCELED);
	ck_assert(!waiters_cancel(object, &one, is_none));
	ck_assert_uint_eq(other.n, 0);
	bring(0, 100);
	expect(&other, 0);
	stop();
}
END_TEST

static bool fail_range(uint64_t from, uint64_t to, int status)
{
	GQueue waiters = G_QUEUE_INIT;
	bool left;

	g_mutex_lock(&object->lock);
	left = object_fail_range(object, from, to, status, QM_READ_FAILED, &waiters);
	g_mutex_unlock(&object->lock);
	waiters_run(core.retriever, &waiters, 0);
	return left;
}

/* Of a range: only those are told who wait for some of it. */
START_TEST(a_range_that_failed)
{
	struct answer before, in, behind;

	start();
	add(0, 100, false, &before);
	add(199, 300, false, &in);
	add(200, 300, false, &behind);
	ck_assert(fail_range(100, 200, -EIO));
	expect(&in, -EIO);
	ck_assert_uint_eq(before.n + behind.n, 0);
	ck_assert_int_eq(object->record.error, EIO);
	ck_assert_uint_eq(errors_count(core.retriever->errors), 1);
	bring(0, 100);
	bring(200, 300);
	expect(&before, 0);
	expect(&behind, 0);
	ck_assert(!fail_range(100, 200, -EIO));
	stop();
}
END_TEST

/* Who waits in the background goes on behind it, and is told of the first in the end. */
START_TEST(the_background_goes_on)
{
	struct answer all, known;

	start();
	add(0, INT64_MAX, true, &all);
	add(0, 300, true, &known);
	ck_assert(fail_range(100, 200, -EIO));
	ck_assert_uint_eq(all.n + known.n, 0);
	ck_assert(fail_range(200, 300, -EACCES)); /* nothing behind it */
	expect(&known, -EACCES);
	ck_assert_uint_eq(all.n, 0);
	bring(200, SIZE);
	expect(&all, -EIO);
	add(0, INT64_MAX, true, &all); /* and all behind it is here */
	ck_assert(!fail_range(100, 200, -EIO));
	expect(&all, -EIO);
	stop();
}
END_TEST

/* A file that cannot be read at all. */
START_TEST(the_background_goes_on_so_often)
{
	struct answer all;
	uint64_t at = 0;

	start();
	add(0, INT64_MAX, true, &all);
	while (fail_range(at, at + 100, -EIO))
		at += 100;
	expect(&all, -EIO);
	ck_assert_uint_lt(at, SIZE - 100);
	ck_assert_uint_gt(at, 0);
	stop();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("waiters", 60);

	tcase_add_test(tcase, answered_when_the_range_is_here);
	tcase_add_test(tcase, a_failure_is_told_to_all);
	tcase_add_test(tcase, what_is_given_up_is_not_listed);
	tcase_add_test(tcase, cancelled);
	tcase_add_test(tcase, a_range_that_failed);
	tcase_add_test(tcase, the_background_goes_on);
	tcase_add_test(tcase, the_background_goes_on_so_often);
	return run_tcase(tcase);
}
