/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of events: what is kept in it, what is overwritten, and who writes at the same time. */
#include "lib/source/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/suite.h"

#define WRITERS 4
#define EACH	20000

static struct trace_event page[TRACE_EVENTS];
static const struct trace_id client = {.peer = "door", .pid = 12, .request = 34};
static const struct trace_id crawler = {.peer = "crawler", .pid = 5, .background = true};

static void add(const struct trace_id *id, uint64_t number)
{
	trace_event(TRACE_SENT, id, "read", 1, 2, number, -3);
}

START_TEST(what_is_kept)
{
	unsigned n;

	add(&crawler, 0); /* nobody has asked yet */
	add(&client, 7);
	ck_assert_uint_eq(trace_read(0, page, TRACE_EVENTS, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(page[0].id.peer, "door");
	ck_assert_uint_eq(page[0].id.pid, 12);
	ck_assert_uint_eq(page[0].id.request, 34);
	ck_assert_int_eq(page[0].step, TRACE_SENT);
	ck_assert_str_eq(page[0].what, "read");
	ck_assert_uint_eq(page[0].offset, 1);
	ck_assert_uint_eq(page[0].length, 2);
	ck_assert_uint_eq(page[0].number, 7);
	ck_assert_int_eq(page[0].result, -3);
	ck_assert_int_le(llabs(page[0].time - g_get_real_time()), 60 * G_USEC_PER_SEC);
	add(&crawler, 8); /* somebody has */
	add(&(struct trace_id){0}, 9);
	ck_assert_uint_eq(trace_read(1, page, TRACE_EVENTS, &n), 1);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(page[0].number, 8);
	ck_assert_ptr_null(page[1].id.peer);
}
END_TEST

START_TEST(overwritten)
{
	unsigned n;

	for (uint64_t i = 0; i < TRACE_EVENTS + 10; i++)
		add(&client, i);
	ck_assert_uint_eq(trace_read(3, page, 100, &n), 10);
	ck_assert_uint_eq(n, 100);
	ck_assert_uint_eq(page[0].number, 10);
	ck_assert_uint_eq(trace_read(TRACE_EVENTS, page, TRACE_EVENTS, &n), TRACE_EVENTS);
	ck_assert_uint_eq(n, 10);
	ck_assert_uint_eq(page[9].number, TRACE_EVENTS + 9);
	ck_assert_uint_eq(trace_read(TRACE_EVENTS + 10, page, TRACE_EVENTS, &n), TRACE_EVENTS + 10);
	ck_assert_uint_eq(n, 0);
	/* a number of another process, which ran for longer */
	ck_assert_uint_eq(trace_read(TRACE_EVENTS * 9, page, 1, &n), 10);
}
END_TEST

static void *write_many(void *arg)
{
	struct trace_id id = {.peer = "door", .pid = (uint32_t)(uintptr_t)arg};

	for (id.request = 0; id.request < EACH; id.request++)
		trace_event(TRACE_REPLY, &id, "read", id.request, id.pid, 0, 0);
	return NULL;
}

/* No event is torn, lost without being counted, or out of its thread's order. */
START_TEST(writers_and_a_reader)
{
	uint64_t at = 0, seen = 0, lost = 0, next[WRITERS] = {0};
	pthread_t threads[WRITERS];
	unsigned n;

	for (uintptr_t i = 0; i < WRITERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
	while (seen + lost < WRITERS * EACH) {
		uint64_t first = trace_read(at, page, 1000, &n);

		lost += first - at;
		for (unsigned i = 0; i < n; i++) {
			ck_assert_uint_eq(page[i].offset, page[i].id.request);
			ck_assert_uint_eq(page[i].length, page[i].id.pid);
			ck_assert_uint_ge(page[i].offset, next[page[i].id.pid]);
			next[page[i].id.pid] = page[i].offset + 1;
		}
		seen += n;
		at = first + n;
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		ck_assert_uint_le(next[i], EACH);
	ck_assert_uint_ge(seen, TRACE_EVENTS);
	ck_assert_uint_eq(trace_read(at, page, 1, &n), WRITERS * EACH);
}
END_TEST

START_TEST(threads_have_their_own)
{
	struct trace_id before = trace_enter(client);

	ck_assert_ptr_null(before.peer);
	ck_assert_uint_eq(trace_current().request, 34);
	ck_assert_uint_eq(trace_enter(before).request, 34);
	ck_assert_ptr_null(trace_current().peer);
}
END_TEST

/* Each step has a name, which is its probe's. */
START_TEST(names)
{
	for (unsigned i = 0; i < TRACE_N; i++)
		ck_assert_ptr_nonnull(trace_step_name(i));
	ck_assert_str_eq(trace_step_name(TRACE_SENT), "sent");
}
END_TEST

static void measure(const char *what, const struct trace_id *id)
{
	gint64 start = g_get_monotonic_time();
	const unsigned times = 200000;

	for (unsigned i = 0; i < times; i++)
		add(id, i);
	printf("%s: %.1f ns an event\n", what,
	       1000.0 * (double)(g_get_monotonic_time() - start) / times);
}

START_TEST(cost)
{
	unsigned n;

	measure("not kept", &crawler);
	measure("kept", &client);
	trace_read(0, page, 1, &n);
	measure("watched", &crawler);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("trace");

	tcase_add_test(tcase, what_is_kept);
	tcase_add_test(tcase, overwritten);
	tcase_add_test(tcase, writers_and_a_reader);
	tcase_add_test(tcase, threads_have_their_own);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, cost);
	return run_tcase(tcase);
}
