/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection: its thread, its worker, requests under way. */
#ifndef SMB_CONN_H
#define SMB_CONN_H

#include <pthread.h>

#include "smb_pool.h"
#include "smb_url.h"
#include "source/backend.h"
#include "source/suspects.h"
#include "wire.h"

struct smb_server {
	struct smb_url url;
	const struct smb_config *config; /* a copy */
	struct backend_watch watch;
	struct suspects suspects;
	struct smb_pool *trial; /* where they are tried */
	unsigned connections;	/* grows while there are no requests */
	/* of the first connection, for open() */
	pthread_mutex_t lock; /* after a pool's; guards what follows */
	pthread_cond_t changed;
	bool known;  /* root and max_read are */
	char *final; /* why not, for ever */
	char *last;  /* the last failure */
	bool locks;  /* smb_failure_locks() of the final one */
	struct wire_attr root;
	uint32_t max_read;
	int64_t clock;	 /* us: how far the server's was ahead then */
	bool trusted;	 /* to let us in: nothing went wrong since it last did */
	bool refuses;	 /* the last log-on was refused */
	gint64 next_try; /* to connect while it is not trusted; monotonic us */
	gint64 lost_at;	 /* likewise: the last connection with requests under way */
	gint64 lost;	 /* likewise: SMB_LOSS after the last loss, or after the one before */
};

/* A connection of the pool, which connects at once, or in SMB_TRIAL when there is something to try.
 * FALSE: no thread to be had. */
bool smb_conn_add(struct smb_pool *pool, struct smb_server *server);
/* All of the pool's: they stop, their workers end, what is under way or waits is completed with
 * -ECANCELED.  Requests may still come, and are refused (smb_pool_submit()). */
void smb_conns_end(struct smb_pool *pool, struct smb_server *server);
void smb_conns_free(struct smb_pool *pool);

/* For tests, in ms: silence after which a server is given up, for workers that start from now on;
 * between log-ons of a server that refuses them; how long a connection may try alone, after another
 * was lost; between log-ons where connections are lost over and over. */
enum smb_time { SMB_STALL, SMB_REFUSED, SMB_TURN, SMB_LOSS };
void smb_set_time(enum smb_time time, unsigned ms);

#endif
