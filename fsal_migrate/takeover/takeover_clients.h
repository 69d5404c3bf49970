/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients still use takeover handles, by day: `migratectl takeover` shows it.  Kept in a
 * file, a line "DAY ADDRESS REQUESTS" each, that is written anew now and then, and when its exports
 * go: a server that is killed forgets the last seconds.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_CLIENTS_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_CLIENTS_H

#include "fsal_migrate/door.h"

struct mg_takeover_clients;

/* That of this file, with what it has: the same for all who ask, as long as the process. */
struct mg_takeover_clients *mg_takeover_clients_of(const char *file);
/* A request of that client.  Any thread; does not block. */
void mg_takeover_clients_count(struct mg_takeover_clients *clients,
			       const struct sockaddr_storage *caller);
/* Writes it if that is due, or now; blocks on the disk.  One thread at a time for each. */
void mg_takeover_clients_save(struct mg_takeover_clients *clients, bool now);

#endif
