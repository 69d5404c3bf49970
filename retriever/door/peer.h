/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One connection.  A request holds a reference to its peer until it is answered; a peer that went
 * away is answered into nothing.  A door's death aborts its brackets.
 */
#ifndef PEER_H
#define PEER_H

#include "server.h"

struct peer *peer_new(struct retriever *retriever, struct server *server, int sock);
/* Main thread. */
void peer_disconnect(struct peer *peer);
enum migrate_role peer_role(const struct peer *peer);

/* Asks the peer to note a placing; notice_noted() when it has, or is gone.  Main thread. */
struct notice;
void peer_tell_placed(struct peer *peer, struct notice *notice);

/* server.c */
void notice_noted(struct notice *notice);
void server_forget(struct server *server, struct peer *peer);

#endif
