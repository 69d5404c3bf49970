/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What only the old server knows of its handles, asked through the retriever. */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_SERVER_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_SERVER_H

#include "fsal_migrate/volume.h"

/* Through which export the retriever is asked, as long as that is there. */
struct mg_takeover_server;

struct mg_takeover_server *mg_takeover_server_new(struct mg_export *export);
/* The export goes: nobody is asked any more.  It stays for ever, as requests may know it. */
void mg_takeover_server_close(struct mg_takeover_server *server);

/*
 * `VERB HANDLE` and rest (retriever/socket/control_old.h).  handle: of 1..MIGRATE_OLD_HANDLE_MAX
 * bytes.  The retriever's status, with its *text for gsh_free(), or NULL.  -EAGAIN: there is no
 * answer within the hold time, for which it blocks, or too many ask.  Any thread.
 */
int mg_takeover_server_ask(struct mg_takeover_server *server, const char *verb, const void *handle,
			   size_t len, const char *rest, char **text);
/* The object of a handle that is not known yet: 0, it is by now, because the retriever found the
 * directory, or has brought the file meanwhile; -ESTALE: the old server has no such object.  Else
 * it may come later.  Blocks for the old server. */
int mg_takeover_server_find(struct mg_takeover_server *server,
			    const struct migrate_old_index *index, const void *handle, size_t len);

#endif
