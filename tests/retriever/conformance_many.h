/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thousand READs that are under way at once.  Those that the backend puts off wait for
 * many_wait(): it may answer them within submit, so that to ask again from done may never end. */
#ifndef TESTS_RETRIEVER_CONFORMANCE_MANY_H
#define TESTS_RETRIEVER_CONFORMANCE_MANY_H

#include "tests/retriever/conformance.h"

struct many {
	struct gate gate;
	struct backend_request reqs[MANY];
	atomic_uint right, cancelled, wrong;
	atomic_uint completions[MANY];
	atomic_bool put_off[MANY];
};

#define PUT_OFF_US 20000

static void block_done(struct backend_request *req)
{
	struct many *many = req->user;
	unsigned i = (unsigned)(req - many->reqs);
	unsigned index;

	if (req->status == -EAGAIN) {
		atomic_store(&many->put_off[i], true);
		return;
	}
	atomic_fetch_add(&many->completions[i], 1);
	if (req->status == -ECANCELED) {
		atomic_fetch_add(&many->cancelled, 1);
	} else if (req->status == 0 && req->data_len == BLOCK) {
		memcpy(&index, req->data, sizeof(index));
		atomic_fetch_add(index == i && req->data[BLOCK - 1] == (uint8_t)(i * 7 + 1)
					 ? &many->right
					 : &many->wrong,
				 1);
	} else {
		atomic_fetch_add(&many->wrong, 1);
	}
	gate_pass(&many->gate);
}

static struct many *start_many(void)
{
	struct source_object file = find("blocks");
	struct many *many = g_new0(struct many, 1);

	gate_init(&many->gate);
	for (unsigned i = 0; i < MANY; i++) {
		many->reqs[i] = (struct backend_request){
			.op = BACKEND_READ,
			.priority = i % 3,
			.object = file,
			.offset = (uint64_t)i * BLOCK,
			.count = BLOCK,
			.done = block_done,
			.user = many,
		};
		backend->ops->submit(backend, &many->reqs[i]);
	}
	return many;
}

/* Until n are done; what is put off is asked for again, as those do that wait for it. */
static void many_wait(struct many *many, unsigned n)
{
	while (gate_count(&many->gate) < n) {
		for (unsigned i = 0; i < MANY; i++)
			if (atomic_exchange(&many->put_off[i], false))
				backend->ops->submit(backend, &many->reqs[i]);
		g_usleep(PUT_OFF_US);
	}
}

static void check_many(struct many *many, unsigned right)
{
	unsigned put_off = 0;

	for (unsigned i = 0; i < MANY; i++) {
		put_off += many->put_off[i];
		ck_assert_uint_eq(many->completions[i] + many->put_off[i], 1);
	}
	ck_assert_uint_eq(many->wrong, 0);
	ck_assert_uint_ge(many->right, right);
	ck_assert_uint_eq(many->right + many->cancelled + put_off, MANY);
	g_free(many);
}

#endif
