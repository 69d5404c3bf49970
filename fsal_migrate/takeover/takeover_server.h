/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Asks the old server, through the retriever, what only it knows of its handles. */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_SERVER_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_SERVER_H

#include "fsal_migrate/volume.h"

/* Knows the export through which the retriever is asked, as long as the export exists. */
struct mg_takeover_server;

struct mg_takeover_server *mg_takeover_server_new(struct mg_export *export);
/* The export goes: from now on nothing is asked.  The struct is never freed, as requests may have a
 * pointer to it. */
void mg_takeover_server_close(struct mg_takeover_server *server);

/*
 * `VERB HANDLE` and rest (retriever/socket/control_old.h).  handle: of 1..MIGRATE_OLD_HANDLE_MAX
 * bytes.  The retriever's status, with its *text for gsh_free(), or NULL.  Blocks up to the hold
 * time.  -EAGAIN: there was no answer in that time, or too many threads ask.  Any thread.
 */
int mg_takeover_server_ask(struct mg_takeover_server *server, const char *verb, const void *handle,
			   size_t len, const char *rest, char **text);
/* The object of a handle that is not known yet: 0: the object is known by now, because the
 * retriever found the directory, or brought the file meanwhile; -ESTALE: the old server has no such
 * object; else the object may come later.  Blocks for the old server. */
int mg_takeover_server_find(struct mg_takeover_server *server,
			    const struct migrate_old_index *index, const void *handle, size_t len);

#endif
