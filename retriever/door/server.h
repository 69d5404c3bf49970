/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket: peers (doors, crawlers, migratectl), their requests and brackets.  Frames are handled
 * on the main thread; replies are sent from any thread.
 */
#ifndef SERVER_H
#define SERVER_H

#include "volume/retriever.h"

struct server;
struct peer;

/* Listens on the configuration's socket, replacing a dead one.  NULL with error set. */
struct server *server_new(struct retriever *retriever, GError **error);
/* Disconnects everybody, aborts their brackets, removes the socket. */
void server_free(struct server *server);
/*
 * Tells every door that something unfinished is about to come below a directory that was normal
 * (migrate_volume_placings()).  done, maybe at once, when all have noted it or are gone.  Main
 * thread.
 */
void server_tell_placed(struct server *server, void (*done)(void *arg), void *arg);
/* Connected peers of a role. */
unsigned server_count(struct server *server, enum migrate_role role);

/* Answers a request that the peer handed out, with text (may be NULL).  Any thread; drops the
 * reference that came with the request. */
void peer_answer(struct peer *peer, uint64_t id, int status, const char *text);

#endif
