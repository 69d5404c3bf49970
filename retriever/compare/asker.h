/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Background requests to the old server, that are waited for and that a stop takes back. */
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
/* What waits in the gate is taken back, and from now on everything is -ECANCELED.  What the old
 * server has already is waited for by who asked. */
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

/* Asks and waits: no thread of the backend, nor the main one.  What came is in asked->req.  Returns
 * its status. */
int asker_call(struct asker *asker, struct asked *asked);

/* Likewise of a READ, whose data is copied: len bytes, at most room. */
struct asker_data {
	uint8_t *bytes;
	uint32_t room, len;
};
int asker_read(struct asker *asker, struct asked *asked, struct asker_data *data);

#endif
