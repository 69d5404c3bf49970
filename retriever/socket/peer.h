/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One connection.  A request holds a reference to its peer until it is answered; a peer that went
 * away is answered into nothing.  A door's death aborts its brackets.
 */
#ifndef RETRIEVER_SOCKET_PEER_H
#define RETRIEVER_SOCKET_PEER_H

#include "common/migrate.h"
#include "retriever/objects/retriever.h"

struct peer;

/*
 * Takes sock.  forget: it is gone; the pointer is not to be used any more.
 *
 * watcher: not root, but a member of MONITOR_GROUP.  Of such a peer HELLO as MIGRATE_ROLE_CONTROL,
 * the command `status` to the letter, and CANCEL are heard, after all that others ask.  Another
 * command is answered -EPERM, and any other frame ends the connection.
 */
struct peer *peer_new(struct retriever *retriever, int sock, bool watcher,
		      void (*forget)(void *owner, struct peer *peer), void *owner);
/* Main thread. */
void peer_disconnect(struct peer *peer);

bool peer_is_watcher(const struct peer *peer);

/* Adds what it waits for (requests_describe()).  Main thread. */
void peer_add_open(struct peer *peer, GPtrArray *list);

#endif
