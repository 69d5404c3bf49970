/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inside common/: the client's side of a volume, shared by client*.c.
 *
 * A request is a node that is found by its id as long as a reply, or for a bracket its end, is to
 * come, and that is freed when it is neither found nor waiting for its callback.
 *
 *   request    QUEUED -> SENT -> answered (reply, cancel)    lost connection: SENT -> QUEUED
 *   BEGIN      QUEUED -> SENT -> OPEN -> ended by END        lost connection: SENT -> answered
 *                                                                             OPEN -> LOST
 *   END        QUEUED -> SENT -> answered                    lost connection: answered
 *
 * Locking: one mutex protects everything that is not marked otherwise.  It is held across
 * non-blocking system calls, never across a callback.  `sock` is opened and closed by the
 * dispatching thread under the lock, and so may be read there without it.
 */
#ifndef COMMON_CLIENT_H
#define COMMON_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/un.h>

#include "common/migrate.h"
#include "common/protocol.h"

enum request_state { REQUEST_QUEUED, REQUEST_SENT, REQUEST_OPEN, REQUEST_LOST };

struct request {
	TAILQ_ENTRY(request) link;
	struct request_list *list; /* that it is in, or NULL */
	struct request *hash_next;
	STAILQ_ENTRY(request) completed;
	enum request_state state;
	bool registered; /* found by its id */
	bool completing; /* in the list of completed ones */
	bool answered;	 /* done was or will be called, or there is none */
	bool background;
	struct migrate_frame frame; /* frame.text is `text` */
	char *text;
	int fds[MIGRATE_FRAME_MAX_FDS];
	size_t nfds;
	migrate_done_fn done;
	migrate_text_fn text_done; /* instead of done */
	void *arg;
	int status;
	char *reply;	     /* text for text_done */
	struct request *end; /* of a BEGIN: to end it takes no memory */
};

TAILQ_HEAD(request_list, request);
STAILQ_HEAD(completed_list, request);

/* What an epoll event is about: data.u32. */
enum { EVENT_SOCK, EVENT_TIMER, EVENT_WAKE };

#define CLIENT_BACKOFF_MIN_MS 50
#define CLIENT_BACKOFF_MAX_MS 2000

enum connection { AWAY, SAID_HELLO, READY };

struct migrate_volume {
	pthread_mutex_t lock;
	int epoll, timer, wake;	 /* for the volume's life */
	char *name;		 /* constant */
	struct sockaddr_un addr; /* constant */
	enum migrate_role role;	 /* constant */
	uint8_t *buf;		 /* MIGRATE_FRAME_MAX bytes, the dispatching thread's */

	int sock; /* -1: AWAY */
	enum connection state;
	bool blocked; /* sending waits for room, memory or the end of the connection */
	bool dead;    /* a sender found the connection broken */
	bool refused; /* other version */
	bool closing;
	bool serves;		 /* migrate_volume_register() */
	struct layer_door *door; /* NULL: it is not registered; behind layer.c's lock */
	unsigned backoff_ms;
	uint64_t next_id;
	struct request **buckets; /* by id */
	size_t n_buckets;	  /* a power of two */
	size_t n_requests;
	unsigned limit;		      /* of them; 0: none */
	struct request_list queue[2]; /* to be sent: demand, background */
	struct request_list sent;
	struct request_list open; /* brackets */
	struct completed_list completed;

	atomic_bool connected, finished, descriptors;
	atomic_uint hold_ms;
};

/* client_table.c: lists, the table of ids, and the end of a request */
void request_list_append(struct request_list *list, struct request *req);
void request_list_prepend(struct request_list *list, struct request *req);
void request_unlink(struct request *req);
/* Gives the request its id and finds it from now on.  0, -ENOMEM. */
int request_register(struct migrate_volume *volume, struct request *req);
/* A new id for one that is registered: cannot fail. */
void request_renumber(struct migrate_volume *volume, struct request *req);
struct request *request_find(const struct migrate_volume *volume, uint64_t id);
/* Puts the request with the completed ones, if its callback is still due. */
void request_complete(struct migrate_volume *volume, struct request *req, int status);
/* Takes it out of list and table; frees it unless its callback is due. */
void request_retire(struct migrate_volume *volume, struct request *req);
/* Both. */
void request_finish(struct migrate_volume *volume, struct request *req, int status);
/* Takes all completed requests and calls their callbacks; without the lock. */
void request_deliver(struct migrate_volume *volume);
void request_free(struct request *req);

/* layer.c: takes back migrate_volume_register(), with the last volume of this process. */
void layer_unregister(struct migrate_volume *volume);

/* client_connection.c: by the dispatching thread, without the lock */
void connection_open(struct migrate_volume *volume);
void connection_receive(struct migrate_volume *volume);
void connection_lost(struct migrate_volume *volume);
/* by anybody, under the lock */
/* Sends the request at once where possible, else queues it. */
void connection_submit(struct migrate_volume *volume, struct request *req);
void connection_flush(struct migrate_volume *volume);
void connection_wake(struct migrate_volume *volume);
/* Closes the connection and completes every request with -ECANCELED. */
void connection_shut(struct migrate_volume *volume);

#endif
