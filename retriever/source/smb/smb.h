/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * smb://: an old SMB server (SMB 2 and 3), by worker processes (smb/wire.h), one for each
 * connection.  Objects are found by path.
 *
 *   smb.c         the table: opening, what goes to which connection
 *   smb_url.c     smb://[DOMAIN;]USER@host[:port]/share/path
 *   smb_conn.c    a connection: its thread, its worker, requests under way
 *   smb_pool.c    requests that wait, for connections of one kind
 *   smb_worker.c  a worker's process and memory
 *   smb_reply.c   what a worker says, checked
 */
#ifndef SMB_H
#define SMB_H

#include "source/backend.h"
#include "smb_pool.h"
#include "wire.h"

/* ---- smb_url.c ---- */

struct smb_url {
	char *text; /* as configured, without a password: there is none in it */
	char *domain, *user, *host, *share;
	char *path; /* below the share, "" for its root */
	uint16_t port;
};
gboolean smb_url_parse(const char *text, struct smb_url *url, GError **error);
void smb_url_clear(struct smb_url *url);

/* ---- smb_reply.c ---- */

/* As the record wants it: ns since 1970; 0 for what is no time. */
int64_t smb_time(uint64_t nttime);
/* FALSE: no file of ours can be like that. */
bool smb_attr_decode(const struct wire_attr *from, struct source_attr *to);
/* A REPLY to req, with what is in its slot, as it came from the worker; the status to complete
 * req with.  data points into slot. */
int smb_reply_decode(const struct wire_reply *reply, const uint8_t *slot,
		     struct backend_request *req);
/* A FAILED: one line that says what is wrong and what to do. */
char *smb_failure_text(const struct smb_url *url, const struct wire_reply *reply);
/* Whether it is wrong for ever, rather than a server that is away. */
bool smb_failure_is_final(const struct wire_reply *reply);
/* Whether to ask again soon makes it worse: a password that is wrong again and again gets the
 * account locked. */
bool smb_failure_locks(const struct wire_reply *reply);

/* ---- smb_worker.c ---- */

struct smb_worker {
	pid_t pid;
	int sock;	 /* not blocking */
	uint8_t *memory; /* WIRE_SLOTS * WIRE_SLOT_BYTES */
};
/* Starts one and tells it how to connect.  0 or -errno. */
int smb_worker_start(struct smb_worker *worker, const struct wire_start *start);
/* Ends it, however it is; the wait status, or 0. */
int smb_worker_end(struct smb_worker *worker);

/* ---- smb_conn.c ---- */

struct smb_server {
	struct smb_url url;
	const struct smb_config *config; /* a copy */
	struct backend_watch watch;
	/* of the first connection, for open() */
	pthread_mutex_t lock; /* after a pool's; guards what follows */
	pthread_cond_t changed;
	bool known;  /* root and max_read are */
	char *final; /* why not, for ever */
	char *last;  /* the last failure */
	bool locks;  /* smb_failure_locks() of the final one */
	struct wire_attr root;
	uint32_t max_read;
	bool trusted;	 /* to let us in: nothing went wrong since it last did */
	bool refuses;	 /* the last log-on was refused */
	gint64 next_try; /* to connect while it is not trusted; monotonic us */
};

/* A connection of the pool, which connects at once.  FALSE: no thread to be had. */
bool smb_conn_add(struct smb_pool *pool, struct smb_server *server);
/* All of the pool's: they stop, their workers end, what is under way or waits is completed with
 * -ECANCELED.  Requests may still come, and are refused (smb_pool_submit()). */
void smb_conns_end(struct smb_pool *pool, struct smb_server *server);
void smb_conns_free(struct smb_pool *pool);

/* For tests: ms of silence after which a server is given up, for workers that start from now on. */
void backend_smb_set_stall(unsigned ms);
/* For tests: ms between log-ons of a server that refuses them. */
void backend_smb_set_refused(unsigned ms);
/* For tests: ms that a connection may try alone, after another was lost. */
void backend_smb_set_turn(unsigned ms);

#endif
