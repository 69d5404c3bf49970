/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who of a server's connections may log on, and when.
 *
 * After a log-on failed, or none was let in for 10 s, or a connection was lost when none was let in
 * just before, one at a time tries, until one is through: the password may have been changed, and
 * each that is wrong counts on the way to a locked account. One that hangs does not hold up the
 * others for long.
 *
 * Each log-on costs the server something, and a panic more.  So connections that are lost count,
 * for all of one pool together: LOSSES are made again at once, then one each SMB_LOSS.  Trials
 * (suspects.h) have leisure: TRIAL_LOSSES.
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
	bool trusted;		/* to let us in: nothing went wrong since it last did */
	bool refuses;		/* the last log-on was refused */
	gint64 let_in;		/* when the last one was; monotonic us */
	gint64 next_try;	/* to connect while it is not trusted; monotonic us */
	gint64 lost[SMB_POOLS]; /* likewise: SMB_LOSS after the last loss, or the one before */
};

void smb_turns_init(struct smb_turns *turns);
void smb_turns_clear(struct smb_turns *turns);
/* One more connection that is always there. */
void smb_turns_add(struct smb_turns *turns);

/* *turn: no other may try meanwhile. */
bool smb_turns_may_connect(struct smb_turns *turns, enum smb_pool_kind kind, bool *turn);
/* In *turn's time. */
void smb_turns_connected(struct smb_turns *turns, bool turn);
void smb_turns_failed(struct smb_turns *turns, bool refused);
/* ready: it was connected; on_purpose: it was ended here. */
void smb_turns_ended(struct smb_turns *turns, enum smb_pool_kind kind, bool ready, bool turn,
		     bool on_purpose);

/* The last log-on was refused. */
bool smb_turns_refused(struct smb_turns *turns);
/* Connections are made again one each SMB_LOSS only. */
bool smb_turns_lost_many(struct smb_turns *turns, enum smb_pool_kind kind);
/* One loss does not count: clients wait, and it was of use. */
void smb_turns_forgive(struct smb_turns *turns, enum smb_pool_kind kind);

/* For tests, in ms: silence after which a server is given up, for workers that start from now on;
 * between log-ons of a server that refuses them; how long a connection may try alone, after another
 * was lost; between log-ons where connections are lost over and over; how long what was given up is
 * not asked for again; how long a log-on says that the password is right, when a connection
 * is lost, and when none is. */
enum smb_time { SMB_STALL, SMB_REFUSED, SMB_TURN, SMB_LOSS, SMB_HOLD, SMB_TRUST, SMB_STALE };
void smb_set_time(enum smb_time time, unsigned ms);
gint64 smb_span(enum smb_time time); /* us */

#endif
