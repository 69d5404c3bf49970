/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/compare/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/base/mtime.h"
#include "retriever/compare/mend_mark.h"

#define SECOND	   INT64_C(1000000000)
#define REFRESH_US (5 * G_USEC_PER_SEC)
#define SETTLE_MS  60000

struct clients {
	GMutex lock;		       /* held while the journal is waited for */
	struct journal_reader *reader; /* NULL: none */
	bool complete;		       /* when it was opened */
	gint64 refreshed;	       /* monotonic, microseconds */
};

/* A process can have a store open only once: a second caller shares it. */
static struct {
	GMutex lock;
	struct clients *clients;
	unsigned refs;
} shared;

static struct clients *open_clients(struct retriever *retriever)
{
	struct clients *clients = g_new0(struct clients, 1);
	g_autoptr(GError) error = NULL, unknown = NULL;
	struct journal_state state;

	g_mutex_init(&clients->lock);
	if (retriever->config->journal)
		clients->reader = journal_open(retriever->config->journal, &error);
	if (error && error->code != ENOENT)
		g_warning("%s; what clients changed is told by times", error->message);
	clients->complete = clients->reader && journal_state(clients->reader, &state, &unknown) &&
			    state.complete;
	clients->refreshed = g_get_monotonic_time();
	return clients;
}

struct clients *clients_new(struct retriever *retriever)
{
	g_mutex_lock(&shared.lock);
	if (!shared.refs++)
		shared.clients = open_clients(retriever);
	g_mutex_unlock(&shared.lock);
	return shared.clients;
}

void clients_free(struct clients *clients)
{
	g_mutex_lock(&shared.lock);
	if (clients && !--shared.refs) {
		if (clients->reader)
			journal_close(clients->reader);
		g_mutex_clear(&clients->lock);
		g_free(clients);
	}
	g_mutex_unlock(&shared.lock);
}

/* ---- by times ---- */

static int64_t ns(const struct statx_timestamp *t)
{
	return t->tv_sec * SECOND + t->tv_nsec;
}

/* By times: whether a client has changed the object.  If it has no time of birth: whether its mtime
 * is newer than the old server's. */
static bool by_times(const struct statx *st, const struct source_attr *there)
{
	int64_t born = st->stx_mask & STATX_BTIME ? ns(&st->stx_btime) : there->mtime + 1;

	return !mtime_is((struct timespec){st->stx_mtime.tv_sec, st->stx_mtime.tv_nsec},
			 there->mtime) &&
	       ns(&st->stx_mtime) >= born;
}

/* ---- by the journal ---- */

/* The flags of a row in the journal that count as a change: of files, of directories. */
static const unsigned flags_of_clients[][2] = {
	[CLIENTS_CONTENT] = {JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_DATA,
			     JOURNAL_MADE | JOURNAL_NAMES},
	[CLIENTS_ATTRIBUTES] = {JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_DATA | JOURNAL_META,
				JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_ENTRIES | JOURNAL_META},
	[CLIENTS_NAMES] = {JOURNAL_MADE | JOURNAL_NAMES,
			   JOURNAL_MADE | JOURNAL_NAMES | JOURNAL_ENTRIES},
};

/* Lock held: what came until now is to be in the snapshot, if it matters. */
static void refresh_clients(struct clients *clients, int64_t changed)
{
	g_autoptr(GError) error = NULL;
	struct journal_state state;

	if (journal_state(clients->reader, &state, &error) && changed >= state.seen)
		journal_settle(clients->reader, false, SETTLE_MS, &error);
	else if (g_get_monotonic_time() - clients->refreshed > REFRESH_US)
		journal_refresh(clients->reader, &error);
	else
		return;
	clients->refreshed = g_get_monotonic_time();
}

/* Lock held.  What a scan has found may be a fill's: there the times must agree. */
static bool by_journal(struct clients *clients, int fd, const struct statx *st, bool times,
		       enum clients_aspect aspect)
{
	g_autoptr(GError) error = NULL;
	struct migrate_binding handle;
	struct journal_row row;

	if (migrate_binding_get(fd, "", &handle))
		return times;
	switch (journal_find(clients->reader, &handle, &row, &error)) {
	case JOURNAL_UNCHANGED:
		return false;
	case JOURNAL_CHANGED:
		break;
	default:
		return times;
	}
	if (row.flags & JOURNAL_SCANNED && aspect == CLIENTS_CONTENT)
		return times;
	return row.flags & flags_of_clients[aspect][S_ISDIR(st->stx_mode)];
}

bool proof_is_clients(struct clients *clients, int fd, const struct source_attr *there,
		      enum clients_aspect aspect, bool differs)
{
	struct statx st;
	bool times, found;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    mend_is_marked(fd, NULL))
		return false;
	times = by_times(&st, there);
	if (!clients->reader || (!times && !differs))
		return times;
	g_mutex_lock(&clients->lock);
	refresh_clients(clients, ns(&st.stx_ctime));
	found = by_journal(clients, fd, &st, times, aspect);
	g_mutex_unlock(&clients->lock);
	return found;
}

bool clients_settle(struct clients *clients, char **why)
{
	g_autoptr(GError) error = NULL;
	struct journal_state state = {0};
	bool good;

	if (!clients->reader) {
		*why = g_strdup(
			"there is no journal, which alone tells what clients changed: start "
			"migrate-journal");
		return false;
	}
	g_mutex_lock(&clients->lock);
	good = journal_settle(clients->reader, false, SETTLE_MS, &error) &&
	       journal_state(clients->reader, &state, &error);
	clients->refreshed = g_get_monotonic_time();
	g_mutex_unlock(&clients->lock);
	if (good && state.complete)
		return true;
	*why = g_strdup(
		error ? error->message
		      : "the journal does not know all that was changed: wait until its gap "
			"is filled (migratectl status)");
	return false;
}

enum journal_answer clients_find(struct clients *clients, const struct migrate_binding *handle,
				 struct journal_row *row)
{
	g_autoptr(GError) error = NULL;
	enum journal_answer answer;

	g_mutex_lock(&clients->lock);
	answer = journal_find(clients->reader, handle, row, &error);
	g_mutex_unlock(&clients->lock);
	return answer;
}

const char *clients_told_by(struct clients *clients)
{
	return clients->complete ? "journal" : "times";
}
