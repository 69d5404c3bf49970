/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <unistd.h>

#include "lib/source/smb/smb_pool.h"
#include "tests/suite.h"

#define PLENTY (UINT64_C(1) << 30)

static struct smb_pool pool;
static struct smb_seat seats[2];
static struct backend_request requests[10];

static void join_two(void)
{
	memset(seats, 0, sizeof(seats));
	memset(&pool, 0, sizeof(pool));
	memset(requests, 0, sizeof(requests));
	smb_pool_init(&pool, SMB_OTHERS, 32);
	for (size_t i = 0; i < G_N_ELEMENTS(seats); i++)
		ck_assert(smb_pool_join(&pool, &seats[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
		requests[i].op = BACKEND_GETATTR;
		requests[i].priority = BACKEND_BACKGROUND;
		requests[i].link.data = &requests[i];
		requests[i].object.path = (char *)"dir";
	}
}

static void leave(void)
{
	for (size_t i = G_N_ELEMENTS(seats); i-- > 0;)
		smb_pool_leave(&seats[i]);
	smb_pool_clear(&pool);
}

static void submit(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		ck_assert(smb_pool_submit(&pool, &requests[i]));
}

/* "0 3 4": which requests a connection got; "": none. */
static void expect_taken(unsigned seat, unsigned room, uint64_t bytes, const char *want)
{
	g_autoptr(GString) got = g_string_new("");
	GQueue out = G_QUEUE_INIT;
	GList *link;

	smb_pool_take(&seats[seat], room, bytes, &out);
	while ((link = g_queue_pop_head_link(&out)))
		g_string_append_printf(got, "%s%ld", got->len ? " " : "",
				       (long)((struct backend_request *)link->data - requests));
	ck_assert_str_eq(got->str, want);
}

static bool was_woken(unsigned seat)
{
	uint64_t count;

	return read(seats[seat].kick, &count, sizeof(count)) == sizeof(count);
}

START_TEST(each_takes_its_part)
{
	submit(0, 10);
	expect_taken(0, 32, PLENTY, "0 1 2 3 4");
	expect_taken(1, 2, PLENTY, "5 6");
	expect_taken(1, 0, PLENTY, "");
	expect_taken(0, 32, PLENTY, "7 8");
	expect_taken(1, 32, PLENTY, "9");
	expect_taken(1, 32, PLENTY, "");
}
END_TEST

START_TEST(what_is_urgent_comes_first)
{
	requests[1].priority = BACKEND_READAHEAD;
	requests[3].priority = BACKEND_DEMAND;
	submit(0, 4);
	expect_taken(0, 3, PLENTY, "3 1");
	expect_taken(0, 3, PLENTY, "0");
	expect_taken(0, 3, PLENTY, "2");
}
END_TEST

START_TEST(reads_are_counted_by_their_bytes)
{
	for (unsigned i = 0; i < 8; i++) {
		requests[i].op = BACKEND_READ;
		requests[i].count = 1000;
	}
	submit(0, 8);
	expect_taken(0, 32, 2001, "0 1 2");
	expect_taken(0, 32, 0, "");
	ck_assert(!seats[0].asleep);
}
END_TEST

START_TEST(who_sleeps_is_woken)
{
	submit(0, 1);
	ck_assert(!was_woken(0) && !was_woken(1)); /* they are on their way to look anyhow */
	expect_taken(1, 32, PLENTY, "0");
	expect_taken(0, 0, PLENTY, "");
	submit(1, 2);
	ck_assert(!was_woken(0) && was_woken(1));
	submit(2, 3);
	ck_assert(!was_woken(0) && !was_woken(1)); /* once */
}
END_TEST

/* It has the least to do, and is connected. */
START_TEST(who_is_least_busy_is_woken)
{
	GQueue out = G_QUEUE_INIT;

	for (unsigned i = 0; i < 2; i++)
		smb_pool_ready(&seats[i], true);
	submit(0, 1);
	smb_pool_take(&seats[0], 32, PLENTY, &out);
	expect_taken(1, 32, PLENTY, "");
	submit(1, 2);
	ck_assert(!was_woken(0) && was_woken(1));
	expect_taken(1, 32, PLENTY, "1");
	expect_taken(0, 32, PLENTY, "");
	smb_pool_ready(&seats[0], false);
	expect_taken(1, 31, PLENTY, "");
	submit(2, 3);
	ck_assert(!was_woken(0) && was_woken(1));
	smb_pool_ready(&seats[1], false); /* before it took that */
	ck_assert(was_woken(0));
}
END_TEST

START_TEST(after_a_loss_few_are_under_way)
{
	smb_pool_lost(&pool);
	submit(0, 10);
	expect_taken(0, 32, PLENTY, "0");
	expect_taken(0, 31, PLENTY, "");
	expect_taken(1, 32, PLENTY, "1");
	for (unsigned i = 0; i < 32; i++)
		smb_pool_answered(&pool);
	expect_taken(0, 32, PLENTY, "2 3");
	for (unsigned i = 0; i < 2000; i++)
		smb_pool_answered(&pool);
	ck_assert_uint_eq(smb_pool_width(&pool), 32);
}
END_TEST

/* So that it is plain what ends the next one. */
START_TEST(what_was_under_way_then_comes_alone)
{
	for (unsigned i = 1; i < 3; i++)
		requests[i].backend.breaks = 1;
	submit(0, 6);
	expect_taken(0, 32, PLENTY, "0");
	expect_taken(1, 31, PLENTY, "");
	expect_taken(1, 32, PLENTY, "1");
	ck_assert(!seats[1].asleep);
	expect_taken(0, 32, PLENTY, "2");
	expect_taken(1, 32, PLENTY, "3 4");
}
END_TEST

/* They take a part of what there is while they are connected, and are asked for nothing otherwise.
 */
START_TEST(spares_take_their_part)
{
	seats[1].spare = true;
	expect_taken(1, 32, PLENTY, "");
	smb_pool_ready(&seats[1], false);
	submit(0, 4);
	ck_assert(!was_woken(1));
	expect_taken(0, 32, PLENTY, "0 1 2 3");
	ck_assert(!smb_pool_wanted(&pool));
	smb_pool_want(&pool);
	ck_assert(smb_pool_wanted(&pool) && was_woken(1));
	smb_pool_ready(&seats[1], true);
	submit(4, 8);
	expect_taken(0, 32, PLENTY, "4 5");
	expect_taken(1, 32, PLENTY, "6");
}
END_TEST

/* Nobody is overtaken for ever. */
START_TEST(turns_in_trials)
{
	static const char *const order[] = {"1", "3", "5", "7", "9", "0", "2", "4", "6"};

	pool.kind = SMB_TRIAL;
	pool.window = 1;
	for (unsigned i = 0; i < 10; i++)
		requests[i].priority = i % 2 ? BACKEND_DEMAND : BACKEND_BACKGROUND;
	submit(0, 10);
	for (unsigned i = 0; i < G_N_ELEMENTS(order); i++)
		expect_taken(0, 1, PLENTY, order[i]);
	expect_taken(0, 0, PLENTY, "");
}
END_TEST

START_TEST(who_has_no_work_is_woken)
{
	ck_assert(!smb_pool_has_work(&seats[0]));
	submit(0, 1);
	ck_assert(was_woken(0));
	ck_assert(smb_pool_has_work(&seats[0]));
	submit(1, 2);
	ck_assert(!was_woken(0)); /* it has work */
}
END_TEST

START_TEST(listings_stay_where_they_are)
{
	struct smb_pool other = {.kind = SMB_DEMAND, .n = 2};

	expect_taken(0, 32, PLENTY, "");
	for (unsigned i = 0; i < 4; i++) {
		requests[i].op = BACKEND_READDIR;
		requests[i].cookie = i > 0;
		requests[i].verf = i > 0 ? smb_pool_verf(&seats[1], 7) : 0;
	}
	ck_assert(!smb_pool_lists(&pool, &requests[0]));
	ck_assert(smb_pool_lists(&pool, &requests[1]));
	ck_assert(!smb_pool_lists(&other, &requests[1]));
	submit(1, 4);
	ck_assert(was_woken(1));
	expect_taken(0, 32, PLENTY, "");
	expect_taken(1, 1, PLENTY, "1");
	ck_assert(!smb_pool_has_bound(&seats[0]) && smb_pool_has_bound(&seats[1]));
	expect_taken(1, 32, PLENTY, "2 3");
	ck_assert(!smb_pool_has_bound(&seats[1]));
	requests[1].verf = smb_pool_verf(&seats[1], 7) + (UINT64_C(1) << 32);
	ck_assert(!smb_pool_lists(&pool, &requests[1]));
}
END_TEST

START_TEST(what_is_given_back_comes_first)
{
	GQueue out = G_QUEUE_INIT;

	requests[1].op = BACKEND_READDIR;
	requests[1].cookie = 1;
	requests[1].verf = smb_pool_verf(&seats[0], 1);
	submit(0, 6);
	smb_pool_take(&seats[0], 4, PLENTY, &out);
	ck_assert_uint_eq(out.length, 4); /* 1, which is bound, and 0 2 3 */
	smb_pool_give_back(&seats[0], &out);
	ck_assert_uint_eq(out.length, 0);
	expect_taken(1, 32, PLENTY, "0 2 3");
	expect_taken(0, 32, PLENTY, "1 4");
}
END_TEST

START_TEST(the_end)
{
	GQueue out = G_QUEUE_INIT;

	requests[1].op = BACKEND_READDIR;
	requests[1].cookie = 1;
	requests[1].verf = smb_pool_verf(&seats[0], 1);
	submit(0, 3);
	ck_assert(!smb_pool_stopped(&pool));
	smb_pool_stop(&pool);
	ck_assert(smb_pool_stopped(&pool));
	ck_assert(was_woken(0) && was_woken(1));
	ck_assert(!smb_pool_submit(&pool, &requests[3]));
	smb_pool_drain(&pool, &out);
	ck_assert_uint_eq(out.length, 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("pool");

	tcase_add_checked_fixture(tcase, join_two, leave);
	tcase_add_test(tcase, each_takes_its_part);
	tcase_add_test(tcase, what_is_urgent_comes_first);
	tcase_add_test(tcase, reads_are_counted_by_their_bytes);
	tcase_add_test(tcase, who_sleeps_is_woken);
	tcase_add_test(tcase, who_is_least_busy_is_woken);
	tcase_add_test(tcase, after_a_loss_few_are_under_way);
	tcase_add_test(tcase, what_was_under_way_then_comes_alone);
	tcase_add_test(tcase, spares_take_their_part);
	tcase_add_test(tcase, turns_in_trials);
	tcase_add_test(tcase, who_has_no_work_is_woken);
	tcase_add_test(tcase, listings_stay_where_they_are);
	tcase_add_test(tcase, what_is_given_back_comes_first);
	tcase_add_test(tcase, the_end);
	return run_tcase(tcase);
}
