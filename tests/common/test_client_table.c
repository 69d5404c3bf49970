/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/client.h"
#include "tests/common/fake.h"

#define MANY 5000

static struct request *make(struct outcome *outcome)
{
	struct request *req = calloc(1, sizeof(*req));

	ck_assert_ptr_nonnull(req);
	req->done = done;
	req->arg = outcome;
	return req;
}

START_TEST(found_by_id)
{
	static struct request *reqs[MANY];
	static uint64_t ids[MANY];

	ck_assert_ptr_null(request_find(volume, 1));
	for (int i = 0; i < MANY; i++) {
		reqs[i] = make(NULL);
		reqs[i]->answered = true;
		ck_assert_int_eq(request_register(volume, reqs[i]), 0);
		ids[i] = reqs[i]->frame.id;
		ck_assert_uint_ne(ids[i], 0);
	}
	for (int i = 0; i < MANY; i++)
		ck_assert_ptr_eq(request_find(volume, ids[i]), reqs[i]);
	for (int i = 0; i < MANY; i += 2)
		request_retire(volume, reqs[i]);
	for (int i = 0; i < MANY; i++)
		ck_assert_ptr_eq(request_find(volume, ids[i]), i % 2 ? reqs[i] : NULL);
	ck_assert_uint_eq(volume->n_requests, MANY / 2);
	request_renumber(volume, reqs[1]);
	ck_assert_ptr_null(request_find(volume, ids[1]));
	ck_assert_ptr_eq(request_find(volume, reqs[1]->frame.id), reqs[1]);
	ck_assert_uint_eq(volume->n_requests, MANY / 2);
	/* The rest goes with the volume. */
}
END_TEST

START_TEST(lists)
{
	struct request_list list = TAILQ_HEAD_INITIALIZER(list);
	struct request a = {0}, b = {0}, c = {0};

	request_list_append(&list, &b);
	request_list_append(&list, &c);
	request_list_prepend(&list, &a);
	ck_assert(TAILQ_FIRST(&list) == &a && TAILQ_NEXT(&a, link) == &b);
	ck_assert(TAILQ_NEXT(&b, link) == &c && TAILQ_LAST(&list, request_list) == &c);
	request_unlink(&b);
	request_unlink(&b);
	ck_assert(TAILQ_NEXT(&a, link) == &c && !b.list);
	request_unlink(&a);
	ck_assert(TAILQ_FIRST(&list) == &c && TAILQ_LAST(&list, request_list) == &c);
	request_unlink(&c);
	ck_assert(TAILQ_EMPTY(&list));
	request_list_prepend(&list, &c);
	ck_assert(TAILQ_FIRST(&list) == &c && TAILQ_LAST(&list, request_list) == &c);
}
END_TEST

START_TEST(delivered_once_in_order)
{
	struct outcome o[3] = {0};
	struct request *reqs[3];

	for (int i = 0; i < 3; i++) {
		reqs[i] = make(&o[i]);
		ck_assert_int_eq(request_register(volume, reqs[i]), 0);
	}
	request_finish(volume, reqs[2], -5);
	request_complete(volume, reqs[0], -6);
	request_complete(volume, reqs[0], -7); /* has its answer */
	ck_assert_int_eq(o[2].calls, 0);
	request_deliver(volume);
	request_deliver(volume);
	ck_assert(o[2].calls == 1 && o[2].status == -5 && o[2].order == 0);
	ck_assert(o[0].calls == 1 && o[0].status == -6 && o[0].order == 1);
	ck_assert_int_eq(o[1].calls, 0);
	/* A completed one can be found until it is retired. */
	ck_assert_ptr_eq(request_find(volume, 1), reqs[0]);
	ck_assert_ptr_null(request_find(volume, 3));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client_table");

	tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
	tcase_add_test(tcase, found_by_id);
	tcase_add_test(tcase, lists);
	tcase_add_test(tcase, delivered_once_in_order);
	return run_case(tcase);
}
