/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_queue.h"

#include <unistd.h>

#include "tests/suite.h"
#include "tests/pairs.h"

static struct nfs_queue queue;
static struct backend_request demand, background;

static void start(void)
{
	demand = (struct backend_request){.priority = BACKEND_READAHEAD};
	background = (struct backend_request){.priority = BACKEND_BACKGROUND};
	demand.link.data = &demand;
	background.link.data = &background;
	ck_assert(nfs_queue_init(&queue));
}

static bool is_woken(void)
{
	uint64_t count;

	return read(queue.wake_fd, &count, sizeof(count)) == sizeof(count);
}

START_TEST(demand_goes_first)
{
	start();
	ck_assert_ptr_null(nfs_queue_first(&queue, true));
	ck_assert(nfs_queue_add(&queue, &background));
	ck_assert_ptr_eq(nfs_queue_first(&queue, false), &background);
	ck_assert(nfs_queue_add(&queue, &demand));
	ck_assert_ptr_eq(nfs_queue_first(&queue, false), &demand);
	ck_assert_ptr_eq(nfs_queue_first(&queue, true), &background);
	nfs_queue_take(&queue, &background);
	ck_assert_ptr_eq(nfs_queue_first(&queue, true), &demand);
	nfs_queue_take(&queue, &demand);
	ck_assert_ptr_null(nfs_queue_first(&queue, false));
	nfs_queue_clear(&queue);
}
END_TEST

/* It is woken for the first request after it has found none. */
START_TEST(one_wakes_the_thread)
{
	struct backend_request *first;

	start();
	ck_assert(!nfs_queue_stops(&queue, false, &first));
	ck_assert_ptr_null(first);
	nfs_queue_add(&queue, &background);
	ck_assert(is_woken());
	nfs_queue_add(&queue, &demand);
	ck_assert(!is_woken());
	ck_assert(!nfs_queue_stops(&queue, false, &first));
	ck_assert_ptr_eq(first, &demand);
	nfs_queue_take(&queue, &demand);
	nfs_queue_add(&queue, &demand);
	ck_assert(!is_woken());
	nfs_queue_clear(&queue);
}
END_TEST

START_TEST(nothing_comes_after_the_end)
{
	struct backend_request *first;

	start();
	nfs_queue_add(&queue, &background);
	nfs_queue_stop(&queue);
	ck_assert(is_woken());
	ck_assert(nfs_queue_stops(&queue, false, &first));
	nfs_queue_add(&queue, &demand); /* not yet */
	ck_assert_ptr_eq(nfs_queue_end(&queue), &demand);
	ck_assert_ptr_eq(nfs_queue_end(&queue), &background);
	ck_assert_ptr_null(nfs_queue_end(&queue));
	ck_assert(!nfs_queue_add(&queue, &demand));
	ck_assert_ptr_null(nfs_queue_first(&queue, false));
	nfs_queue_clear(&queue);
}
END_TEST

static void add_one(void *arg)
{
	struct backend_request *req = g_new0(struct backend_request, 1);

	req->link.data = req;
	ck_assert(nfs_queue_add(arg, req));
}

/* Its thread: who adds is another one. */
static void take_one(void *arg)
{
	struct backend_request *req = nfs_queue_first(arg, false), *first;

	nfs_queue_stops(arg, false, &first);
	if (req)
		nfs_queue_take(arg, req);
	g_free(req);
}

START_TEST(several_threads)
{
	struct paired_call calls[] = {{add_one, &queue}, {take_one, &queue}};
	struct backend_request *req;

	start();
	for (unsigned i = 0; i < 3; i++) {
		call_beside(&calls[0], &calls[i % 2]);
	}
	nfs_queue_stop(&queue);
	while ((req = nfs_queue_end(&queue)))
		g_free(req);
	nfs_queue_clear(&queue);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("nfs_queue");

	tcase_add_test(tcase, demand_goes_first);
	tcase_add_test(tcase, one_wakes_the_thread);
	tcase_add_test(tcase, nothing_comes_after_the_end);
	tcase_add_test(tcase, several_threads);
	return run_tcase(tcase);
}
