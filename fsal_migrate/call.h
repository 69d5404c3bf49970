/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A request to the retriever that threads may wait for.  When no thread waits any more, the request
 * is cancelled, which frees its descriptors here and what it holds in the retriever; an answer of
 * the old server that is on its way may become part of the object all the same.  But a request for
 * a name or a fill goes on without the thread that waited, and serves the next thread, as long as
 * few requests are under way.
 */
#ifndef FSAL_MIGRATE_CALL_H
#define FSAL_MIGRATE_CALL_H

#include "fsal_migrate/volume.h"

struct mg_call {
	struct mg_volume *volume; /* counted */
	int fd, dir_fd;		  /* the call's own; -1: none; closed with the reply */
	struct timespec deadline; /* of all threads that wait for it */
	void *key;		  /* of the directory that is being filled, or NULL */
	size_t key_len;
	char *name;	       /* that is asked for, or NULL */
	struct timespec quick; /* of a name: see fill.c */
	/* volume.lock from here on */
	unsigned refs;
	bool done;
	bool begin; /* a begin: it must be ended if it is given up before it is done */
	bool given_up;
	unsigned waiting; /* threads */
	enum { MG_CALL_NAMES, MG_CALL_DATA, MG_CALL_END } kind;
	int status;	  /* when done */
	uint64_t request; /* 0: not made */
	pthread_cond_t changed;
	struct glist_head link; /* of a name: mg_object.names */
};

/* Takes over the descriptors (-1: none), even if it fails.  NULL: no memory. */
struct mg_call *mg_call_new(struct mg_volume *volume, int fd, int dir_fd);

/*
 * Each makes the call's request; one of these is called, once, with volume.lock held.  A reference
 * is kept for the reply until it is here.  If the request cannot be made, the call is done at once,
 * with the reason.
 */
void mg_call_fill(struct mg_call *call);
void mg_call_name(struct mg_call *call);
void mg_call_sync(struct mg_call *call);
void mg_call_settle(struct mg_call *call); /* MIGRATE_DURABLE, of all of the file */
void mg_call_begin(struct mg_call *call, enum migrate_change change, uint64_t offset,
		   uint64_t length);
void mg_call_end(struct mg_call *call, uint64_t begun, bool changed, bool durable, uint64_t offset,
		 uint64_t length);

/*
 * Waits until the call is done or the deadline has passed.  The request's status; -EAGAIN: it takes
 * longer, or (at once) too many threads wait already.  Without volume.lock.
 */
int mg_call_wait(struct mg_call *call, const struct timespec *deadline);
/* Makes the request, waits until the call's deadline, and gives the call back.  NULL: -EAGAIN. */
int mg_call_run(struct mg_call *call, void (*make)(struct mg_call *call));
/* Cancels the call unless it is done; a begin that is granted all the same is ended.  With
 * volume.lock.
 */
void mg_call_give_up(struct mg_call *call);
struct mg_call *mg_call_ref(struct mg_call *call); /* volume.lock */
void mg_call_unref(struct mg_call *call);	   /* without volume.lock */

#endif
