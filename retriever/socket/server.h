/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket: peers (doors, crawlers, migratectl), their requests and brackets.  Frames are handled
 * on the main thread; replies are sent from any thread.
 */
#ifndef RETRIEVER_SOCKET_SERVER_H
#define RETRIEVER_SOCKET_SERVER_H

#include "retriever/objects/retriever.h"

struct server;

/* Listens on the configuration's socket, replacing a dead one.  NULL with error set. */
struct server *server_new(struct retriever *retriever, GError **error);
/* Disconnects everybody, aborts their brackets, removes the socket. */
void server_free(struct server *server);

#endif
