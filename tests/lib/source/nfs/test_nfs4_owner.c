/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Owners' texts, and who they are here. */
#include "lib/source/nfs/nfs4_owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/retriever/backend_support.h"

#define ANNA "anna@example.org"

static struct nfs4_owners *owners;
static atomic_uint asked, said;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool held;	  /* who is asked for a name "slow..." does not answer */
static unsigned waiting;  /* there */
static atomic_int answer; /* of anna's */

static void wait_while_held(void)
{
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_broadcast(&changed);
	while (held)
		pthread_cond_wait(&changed, &lock);
	waiting--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void expect_waiting(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (waiting != n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void let_go(void)
{
	pthread_mutex_lock(&lock);
	held = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static int ask(bool group, char *text, uint32_t *id)
{
	asked++;
	if (g_str_has_prefix(text, "slow"))
		wait_while_held();
	if (strcmp(text, ANNA) != 0)
		return -ENOENT;
	memset(text, 'x', 4); /* it is theirs */
	*id = group ? 2000 : 1000;
	return answer;
}

static void count_lines(const gchar *domain, GLogLevelFlags level, const gchar *message,
			gpointer user)
{
	ck_assert_ptr_nonnull(strstr(message, "nfs://old/x: "));
	said++;
}

static void setup(void)
{
	asked = said = 0;
	held = true;
	answer = 0;
	g_log_set_default_handler(count_lines, NULL);
	owners = nfs4_owners_new("nfs://old/x", ask, NULL);
}

static void teardown(void)
{
	nfs4_owners_free(owners);
}

static void setup_with(nfs4_owner_fn fn, const struct nfs4_owner_times *times)
{
	nfs4_owners_free(owners);
	owners = nfs4_owners_new("nfs://old/x", fn, times);
}

static int find(const char *text, bool demand, bool group, uint32_t *id)
{
	return nfs4_owners_id(owners, demand, group, (const uint8_t *)text, (uint32_t)strlen(text),
			      id);
}

static uint32_t wait_for(const char *text, bool demand, bool group)
{
	uint32_t id = 1;

	while (find(text, demand, group, &id) == -EAGAIN)
		sched_yield();
	return id;
}

static uint32_t user(const char *text)
{
	return wait_for(text, false, false);
}

START_TEST(numbers_are_themselves)
{
	ck_assert_uint_eq(user("0"), 0);
	ck_assert_uint_eq(user("1000"), 1000);
	ck_assert_uint_eq(user("4294967294"), 4294967294u);
	ck_assert_uint_eq(user("4294967295"), NFS4_NOBODY);
	ck_assert_uint_eq(user("4294967296"), NFS4_NOBODY);
	ck_assert_uint_eq(user("-1"), NFS4_NOBODY);
	ck_assert_uint_eq(user("+1"), NFS4_NOBODY);
	ck_assert_uint_eq(user(" 1"), NFS4_NOBODY);
	ck_assert_uint_eq(user("1x"), NFS4_NOBODY);
	ck_assert_uint_eq(user(""), NFS4_NOBODY);
	ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(names_are_asked_for_once)
{
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(user(ANNA), 1000);
		ck_assert_uint_eq(wait_for(ANNA, true, true), 2000);
		ck_assert_uint_eq(user("otto@example.org"), NFS4_NOBODY);
		ck_assert_uint_eq(user("anna"), NFS4_NOBODY); /* of no domain */
	}
	ck_assert_uint_eq(asked, 3);
	ck_assert_uint_eq(said, 2);
}
END_TEST

START_TEST(a_server_may_make_up_any_number)
{
	char text[600];
	uint32_t id = 1;

	memset(text, 'a', sizeof(text));
	ck_assert_int_eq(nfs4_owners_id(owners, true, false, (uint8_t *)text, 600, &id), 0);
	ck_assert_uint_eq(id, NFS4_NOBODY);
	ck_assert_int_eq(nfs4_owners_id(owners, true, false, (uint8_t *)"1\0", 2, &id), 0);
	ck_assert_uint_eq(id, NFS4_NOBODY);
	ck_assert_uint_eq(said, 0);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "u%u@x", i);
		find(text, false, false, &id);
	}
	ck_assert_uint_eq(user(text), NFS4_NOBODY);
	ck_assert_uint_le(asked, 100000);
	ck_assert_uint_le(said, 1000);
}
END_TEST

/* Those who need another name neither wait nor are refused. */
START_TEST(a_slow_name_holds_up_no_other)
{
	uint32_t id;

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(find("slow@x", true, false, &id), -EAGAIN);
	expect_waiting(1);
	ck_assert_uint_eq(user(ANNA), 1000);
	ck_assert_int_eq(find("slow@x", true, false, &id), -EAGAIN);
	ck_assert_uint_eq(user(ANNA), 1000);
	ck_assert_uint_eq(asked, 2);
	let_go();
	ck_assert_uint_eq(user("slow@x"), NFS4_NOBODY);
	ck_assert_uint_eq(asked, 2);
}
END_TEST

START_TEST(demand_passes_the_background)
{
	char text[20];
	uint32_t id;

	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "slow%u@x", i);
		ck_assert_int_eq(find(text, false, false, &id), -EAGAIN);
	}
	ck_assert_int_eq(find(ANNA, false, false, &id), -EAGAIN);
	expect_waiting(4);
	ck_assert_uint_eq(wait_for(ANNA, true, true), 2000);  /* of its own */
	ck_assert_uint_eq(wait_for(ANNA, true, false), 1000); /* in front of the others */
	ck_assert_uint_eq(asked, 6);
	let_go();
	ck_assert_uint_eq(user("slow99@x"), NFS4_NOBODY);
}
END_TEST

START_TEST(a_failure_is_not_nobody)
{
	uint32_t id;

	answer = -ECONNREFUSED;
	setup_with(ask, &(struct nfs4_owner_times){.patience = G_MAXINT32, .nobody = G_MAXINT32});
	ck_assert_int_eq(find(ANNA, true, false, &id), -EAGAIN);
	while (asked < 3) /* tried again and again */
		ck_assert_int_eq(find(ANNA, true, false, &id), -EAGAIN);
	ck_assert_uint_eq(said, 1);
	answer = 0;
	ck_assert_uint_eq(wait_for(ANNA, true, false), 1000);
	ck_assert_uint_eq(said, 1);
}
END_TEST

START_TEST(who_has_no_answer_for_long_is_said_so)
{
	uint32_t id;

	answer = -EIO;
	setup_with(ask, &(struct nfs4_owner_times){.pause = G_MAXINT32});
	ck_assert_int_eq(find("slow@x", true, false, &id), -EHOSTDOWN);
	ck_assert_int_eq(find(ANNA, true, false, &id), -EHOSTDOWN);
	let_go();

	/* the next time it may be known */
	setup_with(ask, &(struct nfs4_owner_times){.patience = 1000, .pause = 2000});
	while (find(ANNA, true, false, &id) != -EHOSTDOWN)
		sched_yield();
	answer = 0;
	while (find(ANNA, true, false, &id) != 0)
		sched_yield();
	ck_assert_uint_eq(id, 1000);
}
END_TEST

/* They may be created. */
START_TEST(nobody_is_asked_for_again)
{
	uint32_t id = NFS4_NOBODY;

	answer = -ENOENT;
	setup_with(ask, &(struct nfs4_owner_times){.patience = G_MAXINT32, .nobody = 1000});
	ck_assert_uint_eq(user(ANNA), NFS4_NOBODY);
	answer = 0;
	while (id == NFS4_NOBODY)
		find(ANNA, true, false, &id);
	ck_assert_uint_eq(id, 1000);
	ck_assert_uint_eq(said, 1);
}
END_TEST

START_TEST(nobody_waits_for_the_name_service_at_the_end)
{
	uint32_t id;

	find("slow@x", true, false, &id);
	expect_waiting(1);
	nfs4_owners_free(owners);
	owners = NULL;
	let_go();
	expect_waiting(0);
}
END_TEST

/* This host's own: whom it does not have it does not know. */
START_TEST(the_host_is_asked)
{
	setup_with(NULL, NULL);
	ck_assert_uint_eq(user("no such user@no such domain"), NFS4_NOBODY);
	ck_assert_uint_eq(said, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, numbers_are_themselves);
	tcase_add_test(tcase, names_are_asked_for_once);
	tcase_add_test(tcase, a_server_may_make_up_any_number);
	tcase_add_test(tcase, a_slow_name_holds_up_no_other);
	tcase_add_test(tcase, demand_passes_the_background);
	tcase_add_test(tcase, a_failure_is_not_nobody);
	tcase_add_test(tcase, who_has_no_answer_for_long_is_said_so);
	tcase_add_test(tcase, nobody_is_asked_for_again);
	tcase_add_test(tcase, nobody_waits_for_the_name_service_at_the_end);
	tcase_add_test(tcase, the_host_is_asked);
	return run_tcase(tcase);
}
