/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thousand READs that are under way at once. */
#ifndef TESTS_RETRIEVER_CONFORMANCE_MANY_H
#define TESTS_RETRIEVER_CONFORMANCE_MANY_H

#include "tests/retriever/conformance.h"

struct many {
	struct gate gate;
	bool stays; /* the backend, until all is done */
	struct backend_request reqs[MANY];
	atomic_uint right, cancelled, wrong;
	atomic_uint completions[MANY];
};

static void block_done(struct backend_request *req)
{
	struct many *many = req->user;
	unsigned i = (unsigned)(req - many->reqs);
	unsigned index;

	if (req->status == -EAGAIN && many->stays) { /* put off: as the gate does */
		backend->ops->submit(backend, req);
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

static struct many *start_many(bool stays)
{
	struct source_object file = find("blocks");
	struct many *many = g_new0(struct many, 1);

	gate_init(&many->gate);
	many->stays = stays;
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

static void check_many(struct many *many, unsigned right)
{
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_uint_eq(many->completions[i], 1);
	ck_assert_uint_eq(many->wrong, 0);
	ck_assert_uint_ge(many->right, right);
	ck_assert_uint_eq(many->right + many->cancelled, MANY);
	g_free(many);
}

#endif
