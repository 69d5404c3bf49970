/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The requests that wait to be sent on one connection.  Any thread adds them; only the connection's
 * thread takes them away, and it sleeps in poll() on wake_fd. */
#ifndef LIB_SOURCE_NFS_NFS_QUEUE_H
#define LIB_SOURCE_NFS_NFS_QUEUE_H

#include <pthread.h>

#include "lib/source/backend.h"

struct nfs_queue {
	int wake_fd;
	pthread_mutex_t lock; /* guards the rest; never held across a system call that waits */
	GQueue demand, background;
	bool awake; /* the thread will look at the queue without being woken */
	bool stop;
	bool stopped; /* nothing is added any more */
};

/* FALSE: there is no descriptor; clear it all the same. */
bool nfs_queue_init(struct nfs_queue *queue);
void nfs_queue_clear(struct nfs_queue *queue);

/* Any thread.  FALSE: the queue has ended, and the request is not in it. */
bool nfs_queue_add(struct nfs_queue *queue, struct backend_request *req);
/* Any thread: nfs_queue_stops() from now on. */
void nfs_queue_stop(struct nfs_queue *queue);

/*
 * These are for the connection's thread.  nfs_queue_first() returns the request that is next, or
 * NULL; prefer_background: one of background before the others.  nfs_queue_stops() returns whether
 * nfs_queue_stop() was called, and sets *first to the same; without one, whoever adds a request
 * wakes the thread.
 */
struct backend_request *nfs_queue_first(struct nfs_queue *queue, bool prefer_background);
bool nfs_queue_stops(struct nfs_queue *queue, bool prefer_background,
		     struct backend_request **first);
/* Takes what nfs_queue_first() returned, also if it is not the first any more. */
void nfs_queue_take(struct nfs_queue *queue, struct backend_request *req);
/* Takes any request; NULL: there is none, and the queue has ended. */
struct backend_request *nfs_queue_end(struct nfs_queue *queue);

#endif
