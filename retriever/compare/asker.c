/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/asker.h"

#include <string.h>

#include "lib/base/latch.h"

void asker_init(struct asker *asker, struct retriever *retriever)
{
	memset(asker, 0, sizeof *asker);
	asker->retriever = retriever;
	asker->priority = BACKEND_BACKGROUND;
}

bool asker_is_stopped(struct asker *asker)
{
	return g_atomic_int_get(&asker->stopped) || g_atomic_int_get(&asker->retriever->closing);
}

static void answered(struct backend_request *req)
{
	struct asked *asked = (struct asked *)req;

	if (req->status == GATE_WITHDRAWN)
		req->status = -ECANCELED;
	asked->done(asked);
}

static bool is_ours(const struct backend_request *req, const void *asker)
{
	return req->done == answered && ((const struct asked *)req)->asker == asker;
}

void asker_stop(struct asker *asker)
{
	g_atomic_int_set(&asker->stopped, 1);
	gate_withdraw(asker->retriever->gate, is_ours, asker);
}

void asker_submit(struct asker *asker, struct asked *asked, void (*done)(struct asked *asked))
{
	asked->asker = asker;
	asked->done = done;
	asked->req.done = answered;
	asked->req.priority = asker->priority;
	if (asker_is_stopped(asker)) {
		asked->req.status = -ECANCELED;
		done(asked);
		return;
	}
	gate_submit(asker->retriever->gate, &asked->req);
	/* it may have come to the gate after a stop had looked there */
	if (asker_is_stopped(asker))
		gate_withdraw(asker->retriever->gate, is_ours, asker);
}

/* A request for which asker_call() waits. */
struct asker_wait {
	struct latch latch;
	struct asker_data *data; /* or NULL */
};

static void wake(struct asked *asked)
{
	struct asker_wait *waiting = asked->req.user;

	if (waiting->data && !asked->req.status) {
		waiting->data->len = MIN(asked->req.data_len, waiting->data->room);
		if (waiting->data->len)
			memcpy(waiting->data->bytes, asked->req.data, waiting->data->len);
	}
	latch_count_down(&waiting->latch, asked->req.status);
}

int asker_read(struct asker *asker, struct asked *asked, struct asker_data *data)
{
	struct asker_wait waiting = {.data = data};

	latch_init(&waiting.latch, 1);
	asked->req.user = &waiting;
	asker_submit(asker, asked, wake);
	return latch_wait(&waiting.latch);
}

int asker_call(struct asker *asker, struct asked *asked)
{
	return asker_read(asker, asked, NULL);
}
