/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection to an old SMB server: its thread, its worker, and the requests under way on it. */
#ifndef LIB_SOURCE_SMB_SMB_CONN_H
#define LIB_SOURCE_SMB_SMB_CONN_H

#include <pthread.h>

#include "lib/config/smb_url.h"
#include "lib/source/backend.h"
#include "lib/source/smb/smb_pool.h"
#include "lib/source/smb/smb_turns.h"
#include "lib/source/smb/wire.h"
#include "lib/source/suspects.h"

struct smb_server {
	struct smb_url url;
	const struct smb_config *config; /* a copy */
	struct backend_watch watch;
	struct suspects suspects;
	struct smb_pool *demand, *trial;
	struct smb_turns turns;
	atomic_bool lists_streams; /* the server listed the streams of some object */
	/* of the first connection, for open() */
	pthread_mutex_t lock; /* after a pool's; guards what follows */
	pthread_cond_t changed;
	bool known;	  /* root and max_read are known */
	char *final;	  /* why they never will be known */
	char *last;	  /* the last failure */
	bool locks;	  /* smb_failure_locks() of the final failure */
	bool lacks_share; /* and smb_failure_lacks_share() */
	struct wire_attr root;
	uint32_t max_read;
	int64_t clock; /* us: how far the server's was ahead then */
};

/* Adds a connection to the pool.  It connects at once; in SMB_TRIAL when there is something to try;
 * a spare when it is wanted (smb_pool_want()).  FALSE: no thread could be started. */
bool smb_conn_add(struct smb_pool *pool, struct smb_server *server, bool spare);
/* Makes a request that ended connections, alone on its connection; or completes it with -EAGAIN if
 * that would take long. */
void smb_conn_try(struct smb_server *server, struct backend_request *req);
/* Ends all connections of the pool: they stop, their workers end, and requests that are under way
 * or wait are completed with -ECANCELED.  Requests may still come, and are refused
 * (smb_pool_submit()). */
void smb_conns_end(struct smb_pool *pool, struct smb_server *server);
void smb_conns_free(struct smb_pool *pool);

#endif
