/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of a server's connections may log on, and when.
 *
 * The password may have been changed meanwhile, and each wrong log-on brings the account nearer to
 * being locked.  So only one connection at a time tries, until one is let in, after a log-on
 * failed, or when none was let in for 10 s, or when a connection was lost and none was let in just
 * before.  A connection that hangs in its log-on does not hold up the others for long.
 *
 * Each log-on costs the server something, and a crash of its process more.  So the lost connections
 * of a pool are counted together: LOSSES of them are made again at once, after that one each
 * SMB_LOSS.  Trials (suspects.h) can wait: for them it is TRIAL_LOSSES.
 *
 * Any thread; nothing blocks.
 */
#ifndef LIB_SOURCE_SMB_SMB_TURNS_H
#define LIB_SOURCE_SMB_SMB_TURNS_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "lib/source/smb/smb_pool.h"

struct smb_turns {
	pthread_mutex_t lock; /* a leaf; guards what follows */
	unsigned connections;
	bool trusted;  /* the server is expected to let connections in: nothing went wrong since it
			  last did */
	bool refuses;  /* the last log-on was refused */
	gint64 let_in; /* when the last connection was let in; monotonic us */
	gint64 next_try;	/* when to connect while it is not trusted; monotonic us */
	gint64 lost[SMB_POOLS]; /* monotonic us: each loss adds SMB_LOSS, to now at least */
};

void smb_turns_init(struct smb_turns *turns);
void smb_turns_clear(struct smb_turns *turns);
/* One more connection that is always there. */
void smb_turns_add(struct smb_turns *turns);

/* Whether a connection may log on now.  *turn: it tries alone, and no other connection may
 * meanwhile. */
bool smb_turns_may_connect(struct smb_turns *turns, enum smb_pool_kind kind, bool *turn);
/* How the log-on ended that smb_turns_may_connect() allowed; turn: as it said. */
void smb_turns_connected(struct smb_turns *turns, bool turn);
void smb_turns_failed(struct smb_turns *turns, bool refused);
/* The connection ended.  ready: it was connected; on_purpose: it was ended by this side. */
void smb_turns_ended(struct smb_turns *turns, enum smb_pool_kind kind, bool ready, bool turn,
		     bool on_purpose);

/* Whether the last log-on was refused. */
bool smb_turns_refused(struct smb_turns *turns);
/* Whether connections of that kind are made again only one each SMB_LOSS. */
bool smb_turns_lost_many(struct smb_turns *turns, enum smb_pool_kind kind);
/* One loss does not count: clients wait, and the connection answered requests. */
void smb_turns_forgive(struct smb_turns *turns, enum smb_pool_kind kind);

/* For tests, in ms: silence after which a worker, started from now on, gives up its server; time
 * between log-ons to a server that refuses them; how long one connection may try alone after
 * another was lost; time between log-ons when connections are lost again and again; how long a
 * request that was given up is not made again; how long a log-on proves that the password is right,
 * when a connection is lost, and when none is. */
enum smb_time { SMB_STALL, SMB_REFUSED, SMB_TURN, SMB_LOSS, SMB_HOLD, SMB_TRUST, SMB_STALE };
void smb_set_time(enum smb_time time, unsigned ms);
gint64 smb_span(enum smb_time time); /* us */

#endif
