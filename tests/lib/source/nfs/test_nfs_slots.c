/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_slots.h"
#include "tests/suite.h"

static struct nfs_slots slots;
static struct backend_request reqs[NFS_SLOTS];

static void start(uint32_t sequence)
{
	memset(reqs, 0, sizeof(reqs));
	for (unsigned i = 0; i < NFS_SLOTS; i++)
		reqs[i].link.data = &reqs[i];
	nfs_slots_init(&slots, sequence);
}

START_TEST(the_lowest_slots_come_first)
{
	start(7);
	for (unsigned i = 0; i < NFS_SLOTS; i++)
		ck_assert_uint_eq(nfs_slots_add(&slots, &reqs[i]), i);
	ck_assert_uint_eq(slots.in_flight, NFS_SLOTS);
	ck_assert_ptr_eq(nfs_slots_take(&slots, 17), &reqs[17]);
	ck_assert_uint_eq(nfs_slots_add(&slots, &reqs[17]), 17);
}
END_TEST

START_TEST(a_late_reply_is_nobodys)
{
	unsigned index;
	uint32_t late;

	start(0x3fffff); /* the next is 0: 22 bits of an xid count */
	index = nfs_slots_add(&slots, &reqs[0]);
	late = slots.slots[index].xid;
	ck_assert_int_eq(nfs_slots_find(&slots, late), index);
	ck_assert_int_eq(nfs_slots_find(&slots, late ^ 1), -1);
	nfs_slots_take(&slots, index);
	ck_assert_int_eq(nfs_slots_find(&slots, late), -1);
	ck_assert_uint_eq(nfs_slots_add(&slots, &reqs[1]), index);
	ck_assert_int_eq(nfs_slots_find(&slots, late), -1);
	ck_assert_int_eq(nfs_slots_find(&slots, slots.slots[index].xid), index);
}
END_TEST

START_TEST(bytes_are_counted)
{
	start(0);
	reqs[0].op = reqs[1].op = BACKEND_READ;
	reqs[0].count = 1000;
	reqs[1].count = NFS_READ_MAX + 1;
	reqs[2].op = BACKEND_LOOKUP;
	reqs[2].count = 5;
	for (unsigned i = 0; i < 3; i++)
		nfs_slots_add(&slots, &reqs[i]);
	ck_assert_uint_eq(slots.bytes, 1000 + NFS_READ_MAX);
	nfs_slots_take(&slots, 1);
	ck_assert_uint_eq(slots.bytes, 1000);
}
END_TEST

START_TEST(the_oldest)
{
	start(0);
	ck_assert_int_eq(nfs_slots_oldest(&slots, 99), 99);
	for (unsigned i = 0; i < 3; i++)
		slots.slots[nfs_slots_add(&slots, &reqs[i])].sent = 50 - i;
	ck_assert_int_eq(nfs_slots_oldest(&slots, 99), 48);
	nfs_slots_take(&slots, 2);
	ck_assert_int_eq(nfs_slots_oldest(&slots, 99), 49);
}
END_TEST

/* What was under way is asked again in its old order, before what has waited all the time, though
 * sequence numbers wrap and slots are used anew. */
START_TEST(a_reset_keeps_the_order)
{
	static const unsigned order[] = {2, 4, 5, 6};
	GQueue queue = G_QUEUE_INIT;

	start(0x400000 - 3);
	for (unsigned i = 0; i < 4; i++)
		nfs_slots_add(&slots, &reqs[i]);
	nfs_slots_take(&slots, 1);
	nfs_slots_take(&slots, 0);
	nfs_slots_add(&slots, &reqs[4]);
	nfs_slots_add(&slots, &reqs[5]);
	g_queue_push_head_link(&queue, &reqs[6].link);
	nfs_slots_reset(&slots, &queue, &reqs[3]);
	for (unsigned i = 0; i < G_N_ELEMENTS(order); i++)
		ck_assert_ptr_eq(g_queue_pop_head_link(&queue)->data, &reqs[order[i]]);
	ck_assert_uint_eq(queue.length, 0);
	ck_assert_uint_eq(slots.in_flight, 0);
	ck_assert_uint_eq(nfs_slots_add(&slots, &reqs[0]), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("backend_nfs_slots");

	tcase_add_test(tcase, the_lowest_slots_come_first);
	tcase_add_test(tcase, a_late_reply_is_nobodys);
	tcase_add_test(tcase, bytes_are_counted);
	tcase_add_test(tcase, the_oldest);
	tcase_add_test(tcase, a_reset_keeps_the_order);
	return run_tcase(tcase);
}
