/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_turns.h"
#include "tests/suite.h"
#include "tests/pairs.h"

#define FREE 16 /* losses of one pool, of a server with few connections */

static struct smb_turns turns;

static void setup(void)
{
	smb_set_time(SMB_LOSS, 60000);
	smb_set_time(SMB_TURN, 60000);
	smb_set_time(SMB_REFUSED, 60000);
	smb_set_time(SMB_TRUST, 0);
	smb_turns_init(&turns);
	smb_turns_add(&turns);
}

static void teardown(void)
{
	smb_turns_clear(&turns);
}

static bool may(enum smb_pool_kind kind)
{
	bool turn;

	return smb_turns_may_connect(&turns, kind, &turn);
}

static void connect_and_lose(enum smb_pool_kind kind)
{
	bool turn;

	ck_assert(smb_turns_may_connect(&turns, kind, &turn));
	smb_turns_connected(&turns, turn);
	smb_turns_ended(&turns, kind, true, false, false);
}

/* How many connections may be lost before the next one waits. */
static unsigned losses(enum smb_pool_kind kind)
{
	unsigned n = 0;

	for (; !smb_turns_lost_many(&turns, kind); n++)
		connect_and_lose(kind);
	ck_assert(!may(kind));
	return n;
}

/* The crawler's losses make no client wait. */
START_TEST(each_pool_has_its_own_losses)
{
	ck_assert_uint_eq(losses(SMB_OTHERS), FREE + 1);
	ck_assert_uint_eq(losses(SMB_DEMAND), FREE + 1);
	ck_assert_uint_eq(losses(SMB_TRIAL), 3);
}
END_TEST

START_TEST(what_is_forgiven_is_of_no_account)
{
	for (unsigned i = 0; i < 10 * FREE; i++) {
		connect_and_lose(SMB_DEMAND);
		smb_turns_forgive(&turns, SMB_DEMAND);
	}
	ck_assert(may(SMB_DEMAND));
}
END_TEST

START_TEST(one_tries_after_a_loss)
{
	bool turn;

	connect_and_lose(SMB_DEMAND);
	ck_assert(smb_turns_may_connect(&turns, SMB_OTHERS, &turn) && turn);
	ck_assert(!may(SMB_DEMAND));
	smb_turns_connected(&turns, turn);
	ck_assert(smb_turns_may_connect(&turns, SMB_DEMAND, &turn) && !turn);
	smb_turns_failed(&turns, true);
	ck_assert(!may(SMB_DEMAND));
	smb_set_time(SMB_REFUSED, 0);
	smb_turns_failed(&turns, true);
	ck_assert(may(SMB_DEMAND));
}
END_TEST

/* The password was right just now. */
START_TEST(all_try_after_a_loss)
{
	bool turn;

	smb_set_time(SMB_TRUST, 60000);
	connect_and_lose(SMB_DEMAND);
	for (unsigned i = 0; i < 2; i++)
		ck_assert(smb_turns_may_connect(&turns, SMB_DEMAND, &turn) && !turn);
	smb_turns_failed(&turns, true); /* but is not any more */
	ck_assert(!may(SMB_DEMAND));
}
END_TEST

/* It may have been changed since. */
START_TEST(one_tries_after_a_while)
{
	bool turn;

	ck_assert(smb_turns_may_connect(&turns, SMB_DEMAND, &turn) && turn);
	smb_turns_connected(&turns, turn);
	ck_assert(smb_turns_may_connect(&turns, SMB_OTHERS, &turn) && !turn);
	smb_set_time(SMB_STALE, 0);
	while (smb_turns_may_connect(&turns, SMB_OTHERS, &turn) && !turn)
		;
	ck_assert(turn && !may(SMB_OTHERS));
	smb_set_time(SMB_STALE, 10000);
}
END_TEST

START_TEST(one_tries_after_an_outage)
{
	bool turn;

	smb_set_time(SMB_TRUST, 60000);
	connect_and_lose(SMB_DEMAND);
	ck_assert(smb_turns_may_connect(&turns, SMB_DEMAND, &turn) && !turn);
	smb_turns_failed(&turns, false);
	smb_turns_ended(&turns, SMB_DEMAND, false, turn, false);
	ck_assert(smb_turns_may_connect(&turns, SMB_DEMAND, &turn) && turn);
	ck_assert(!may(SMB_DEMAND));
}
END_TEST

/* What is ended for want of work is no loss of trust. */
START_TEST(ended_on_purpose)
{
	bool turn;

	ck_assert(smb_turns_may_connect(&turns, SMB_TRIAL, &turn) && turn);
	smb_turns_connected(&turns, turn);
	smb_turns_ended(&turns, SMB_TRIAL, true, false, true);
	ck_assert(smb_turns_may_connect(&turns, SMB_TRIAL, &turn) && !turn);
}
END_TEST

static void connect_once(void *arg)
{
	bool turn;

	if (smb_turns_may_connect(arg, SMB_TRIAL, &turn))
		smb_turns_connected(arg, turn);
}

static void fail_once(void *arg)
{
	smb_turns_failed(arg, true);
}

static void end_once(void *arg)
{
	smb_turns_ended(arg, SMB_TRIAL, true, false, false);
}

static void ask_all(void *arg)
{
	smb_turns_refused(arg);
	smb_turns_lost_many(arg, SMB_TRIAL);
}

static void forgive_all(void *arg)
{
	smb_turns_forgive(arg, SMB_TRIAL);
	smb_turns_add(arg);
}

START_TEST(several_threads)
{
	struct paired_call calls[] = {{connect_once, &turns},
				      {fail_once, &turns},
				      {end_once, &turns},
				      {ask_all, &turns},
				      {forgive_all, &turns}};

	call_in_pairs(calls, sizeof(calls) / sizeof(*calls));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_pool_has_its_own_losses);
	tcase_add_test(tcase, what_is_forgiven_is_of_no_account);
	tcase_add_test(tcase, one_tries_after_a_loss);
	tcase_add_test(tcase, all_try_after_a_loss);
	tcase_add_test(tcase, one_tries_after_a_while);
	tcase_add_test(tcase, one_tries_after_an_outage);
	tcase_add_test(tcase, ended_on_purpose);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
