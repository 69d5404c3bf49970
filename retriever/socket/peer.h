/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One connection of a door, the crawler or migratectl.  A request holds a reference to its peer
 * until it is answered; an answer to a peer that went away is dropped.  When a door dies its
 * brackets are aborted.
 */
#ifndef RETRIEVER_SOCKET_PEER_H
#define RETRIEVER_SOCKET_PEER_H

#include "common/migrate.h"
#include "retriever/objects/retriever.h"

struct peer;

/*
 * Takes sock.  forget: called when the peer is gone; the pointer must not be used any more.
 *
 * watcher: the peer is not root, but a member of MONITOR_GROUP.  From such a peer only HELLO as
 * MIGRATE_ROLE_CONTROL, exactly the command `status`, and CANCEL are accepted, and they are handled
 * after all requests of other peers.  Another command is answered -EPERM, and any other frame ends
 * the connection.
 */
struct peer *peer_new(struct retriever *retriever, int sock, bool watcher,
		      void (*forget)(void *owner, struct peer *peer), void *owner);
/* Main thread. */
void peer_disconnect(struct peer *peer);

bool peer_is_watcher(const struct peer *peer);

/* Adds the peer's open requests to the list (requests_describe()).  Main thread. */
void peer_add_open(struct peer *peer, GPtrArray *list);

#endif
