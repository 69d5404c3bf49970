/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends background requests to the old server, waits for their answers, and takes them back when it
 * is stopped. */
#ifndef RETRIEVER_COMPARE_ASKER_H
#define RETRIEVER_COMPARE_ASKER_H

#include "lib/source/gate.h"
#include "retriever/objects/retriever.h"

struct asker {
	struct retriever *retriever;
	gint stopped;			/* atomic: nothing more is asked */
	enum backend_priority priority; /* BACKEND_BACKGROUND unless set after asker_init() */
};

void asker_init(struct asker *asker, struct retriever *retriever);
/* Takes back requests that wait in the gate; from now on every request ends with -ECANCELED.
 * Requests that were sent to the old server already are still waited for by their callers. */
void asker_stop(struct asker *asker);
bool asker_is_stopped(struct asker *asker);

/* Submits; done is called as of source.h, with -ECANCELED where it was stopped. req->user is the
 * submitter's; req->done is set here. */
struct asked {
	struct backend_request req;
	struct asker *asker;
	void (*done)(struct asked *asked);
};
void asker_submit(struct asker *asker, struct asked *asked, void (*done)(struct asked *asked));

/* Submits a request and waits; not on a thread of the backend, nor on the main thread.  The answer
 * is in asked->req.  Returns its status. */
int asker_call(struct asker *asker, struct asked *asked);

/* For asker_read(), which is asker_call() for a READ and copies the data: len bytes, at most room.
 */
struct asker_data {
	uint8_t *bytes;
	uint32_t room, len;
};
int asker_read(struct asker *asker, struct asked *asked, struct asker_data *data);

#endif
