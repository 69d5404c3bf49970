/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_turns.h"

#include <stdatomic.h>

#define LOSSES	     16 /* or twice the number of connections, if that is more */
#define TRIAL_LOSSES 2

static atomic_uint times[] = {
	[SMB_STALL] = 30000, [SMB_REFUSED] = 60000, [SMB_TURN] = 2000,	 [SMB_LOSS] = 500,
	[SMB_HOLD] = 60000,  [SMB_TRUST] = 1000,    [SMB_STALE] = 10000,
};

void smb_set_time(enum smb_time time, unsigned ms)
{
	atomic_store(&times[time], ms);
}

gint64 smb_span(enum smb_time time)
{
	return atomic_load(&times[time]) * G_TIME_SPAN_MILLISECOND;
}

void smb_turns_init(struct smb_turns *turns)
{
	*turns = (struct smb_turns){0};
	pthread_mutex_init(&turns->lock, NULL);
}

void smb_turns_clear(struct smb_turns *turns)
{
	pthread_mutex_destroy(&turns->lock);
}

void smb_turns_add(struct smb_turns *turns)
{
	pthread_mutex_lock(&turns->lock);
	turns->connections++;
	pthread_mutex_unlock(&turns->lock);
}

/* Lock held. */
static bool has_lost_many(const struct smb_turns *turns, enum smb_pool_kind kind, gint64 now)
{
	gint64 free = MAX(LOSSES, 2 * turns->connections);

	return turns->lost[kind] - now >
	       (kind == SMB_TRIAL ? TRIAL_LOSSES : free) * smb_span(SMB_LOSS);
}

bool smb_turns_lost_many(struct smb_turns *turns, enum smb_pool_kind kind)
{
	bool many;

	pthread_mutex_lock(&turns->lock);
	many = has_lost_many(turns, kind, g_get_monotonic_time());
	pthread_mutex_unlock(&turns->lock);
	return many;
}

bool smb_turns_refused(struct smb_turns *turns)
{
	bool refused;

	pthread_mutex_lock(&turns->lock);
	refused = turns->refuses;
	pthread_mutex_unlock(&turns->lock);
	return refused;
}

bool smb_turns_may_connect(struct smb_turns *turns, enum smb_pool_kind kind, bool *turn)
{
	gint64 now = g_get_monotonic_time();
	bool may;

	pthread_mutex_lock(&turns->lock);
	if (turns->trusted && now - turns->let_in > smb_span(SMB_STALE)) {
		turns->trusted = false;
		turns->next_try = 0;
	}
	may = (turns->trusted || now >= turns->next_try) && !has_lost_many(turns, kind, now);
	*turn = may && !turns->trusted;
	if (*turn)
		turns->next_try = now + smb_span(turns->refuses ? SMB_REFUSED : SMB_TURN);
	pthread_mutex_unlock(&turns->lock);
	return may;
}

void smb_turns_connected(struct smb_turns *turns, bool turn)
{
	pthread_mutex_lock(&turns->lock);
	/* A connection whose log-on began before the trouble proves nothing now. */
	turns->trusted |= turn;
	turns->let_in = g_get_monotonic_time();
	turns->refuses &= !turns->trusted;
	pthread_mutex_unlock(&turns->lock);
}

void smb_turns_failed(struct smb_turns *turns, bool refused)
{
	pthread_mutex_lock(&turns->lock);
	turns->refuses = refused;
	turns->trusted &= !refused;
	if (refused)
		turns->next_try = g_get_monotonic_time() + smb_span(SMB_REFUSED);
	pthread_mutex_unlock(&turns->lock);
}

void smb_turns_ended(struct smb_turns *turns, enum smb_pool_kind kind, bool ready, bool turn,
		     bool on_purpose)
{
	gint64 now = g_get_monotonic_time();

	pthread_mutex_lock(&turns->lock);
	if (ready)
		turns->lost[kind] = MAX(turns->lost[kind], now) + smb_span(SMB_LOSS);
	if (turns->trusted && !on_purpose) {
		turns->trusted = ready && now - turns->let_in < smb_span(SMB_TRUST);
		turns->next_try = 0;
	} else if (turn && !turns->refuses) {
		turns->next_try = 0;
	}
	pthread_mutex_unlock(&turns->lock);
}

void smb_turns_forgive(struct smb_turns *turns, enum smb_pool_kind kind)
{
	pthread_mutex_lock(&turns->lock);
	turns->lost[kind] -= smb_span(SMB_LOSS);
	pthread_mutex_unlock(&turns->lock);
}
