/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The open requests of one peer, those that were not answered yet, and its brackets.
 *
 * Every wait ends: with its answer, with a cancel, or with its peer.  A cancel is answered at once
 * and gives back the resources of the request; bytes and names that are on their way from the old
 * server by then are still stored here, for the next request.  A peer may have REQUESTS_MAX
 * requests open, and all peers together as many unfinished objects as three quarters of the
 * process's descriptors: further requests are answered -EAGAIN at once, and requests for normal
 * objects are not affected (I11).
 */
#ifndef RETRIEVER_SOCKET_REQUESTS_H
#define RETRIEVER_SOCKET_REQUESTS_H

#include "common/protocol.h"
#include "retriever/objects/retriever.h"

#define REQUESTS_MAX	   4096
#define REQUESTS_DESCRIBED 200 /* a reply has room for them */

struct requests;

/* Sends a reply to the peer.  Any thread. */
typedef void (*reply_fn)(void *peer, const struct migrate_frame *frame);

/* All that follow are called on the main thread.  id: the peer's, for traces and status. */
struct requests *requests_new(struct retriever *retriever, const struct trace_id *id,
			      reply_fn reply, void *peer);
/* FALSE: the peer does not keep to the protocol.  fds are used before this returns; nfds is
 * MIGRATE_FDS_LOST where they could not be taken over. */
bool requests_handle(struct requests *requests, const struct migrate_frame *frame, const int *fds,
		     size_t nfds);
/* The peer is gone: aborts its brackets and ends its waits.  reply is not called again. */
void requests_end(struct requests *requests);

/* A list for requests_add_open(), which adds the peer's requests that are open now;
 * g_ptr_array_unref. */
GPtrArray *requests_list_new(void);
void requests_add_open(struct requests *requests, GPtrArray *list);
/* Adds a group "request N" for each of the REQUESTS_DESCRIBED requests that have waited longest,
 * without the request that asks for this. */
void requests_describe(GPtrArray *list, GKeyFile *file);

#endif
