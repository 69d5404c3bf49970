/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/backend.h"
#include "lib/source/workers.h"
#include "tests/retriever/backend_support.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool open_valve;
static unsigned held, cleared;
static char order[64];
static struct gate gate;
static struct backend_workers *workers;

/* Requests named "hold" wait for the valve; the others note their names. */
static void work(void *user, struct backend_request *req, void *scratch)
{
	ck_assert_ptr_eq(user, &gate);
	(*(unsigned *)scratch)++;
	pthread_mutex_lock(&lock);
	if (strcmp(req->name, "hold") == 0) {
		held++;
		pthread_cond_broadcast(&changed);
		while (!open_valve)
			pthread_cond_wait(&changed, &lock);
	} else {
		strcat(order, req->name);
	}
	pthread_mutex_unlock(&lock);
	backend_complete(req, 0);
}

static void scratch_clear(void *scratch)
{
	pthread_mutex_lock(&lock);
	cleared += *(unsigned *)scratch;
	pthread_mutex_unlock(&lock);
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	open_valve = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_held(unsigned n)
{
	pthread_mutex_lock(&lock);
	while (held < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void pass(struct backend_request *req)
{
	gate_pass(req->user);
}

static void submit(struct backend_request *req, const char *name, enum backend_priority priority)
{
	*req = (struct backend_request){
		.priority = priority, .name = name, .done = pass, .user = &gate};
	backend_prepare(req);
	backend_workers_submit(workers, req);
}

static void setup(void)
{
	gate_init(&gate);
	workers = backend_workers_new(1, 1, work, scratch_clear, sizeof(unsigned), &gate);
	ck_assert_ptr_nonnull(workers);
}

START_TEST(priorities_are_kept)
{
	static struct backend_request reqs[6];

	submit(&reqs[0], "hold", BACKEND_BACKGROUND);
	wait_held(1);
	submit(&reqs[1], "b", BACKEND_BACKGROUND);
	submit(&reqs[2], "r", BACKEND_READAHEAD);
	submit(&reqs[3], "s", BACKEND_READAHEAD);
	submit(&reqs[4], "c", BACKEND_BACKGROUND);
	submit(&reqs[5], "d", BACKEND_DEMAND);
	gate_wait(&gate, 1);
	ck_assert_str_eq(order, "d");
	release();
	gate_wait(&gate, 6);
	ck_assert_str_eq(order, "drsbc");
	backend_workers_free(workers);
	ck_assert_uint_eq(cleared, 6);
}
END_TEST

static void *close_all(void *arg)
{
	backend_workers_free(workers);
	return NULL;
}

START_TEST(freeing_cancels_what_waits)
{
	static struct backend_request reqs[3];
	pthread_t closer;

	submit(&reqs[0], "hold", BACKEND_BACKGROUND);
	wait_held(1);
	submit(&reqs[1], "b", BACKEND_BACKGROUND);
	submit(&reqs[2], "r", BACKEND_READAHEAD);
	ck_assert_int_eq(pthread_create(&closer, NULL, close_all, NULL), 0);
	/* What is under way is waited for, what is submitted meanwhile is done or cancelled. */
	release();
	pthread_join(closer, NULL);
	ck_assert_uint_eq(gate_count(&gate), 3);
	ck_assert_int_eq(reqs[0].status, 0);
	for (unsigned i = 1; i < 3; i++)
		ck_assert(reqs[i].status == 0 || reqs[i].status == -ECANCELED);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, priorities_are_kept);
	tcase_add_test(tcase, freeing_cancels_what_waits);
	return run_tcase(tcase);
}
