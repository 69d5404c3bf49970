/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which clients still use takeover handles, by day: `migratectl takeover` shows it.  They are kept
 * in a file, with a line "DAY ADDRESS REQUESTS" for each.  The file is written anew now and then,
 * and when its exports go: a server that is killed loses the last seconds.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_CLIENTS_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_CLIENTS_H

#include "fsal_migrate/door.h"

struct mg_takeover_clients;

/* The counts of this file, with its content: the same struct for all callers, never freed. */
struct mg_takeover_clients *mg_takeover_clients_of(const char *file);
/* Counts a request of that client.  Any thread; does not block. */
void mg_takeover_clients_count(struct mg_takeover_clients *clients,
			       const struct sockaddr_storage *caller);
/* Writes the file if that is due, or (now) at once; blocks for the disk.  One thread at a time for
 * each struct. */
void mg_takeover_clients_save(struct mg_takeover_clients *clients, bool now);

#endif
