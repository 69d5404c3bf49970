/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "journal/apply.h"
#include "journal/gap.h"
#include "journal/leave.h"
#include "journal/scan.h"
#include "journal/store/close.h"
#include "journal/store/live.h"
#include "journal/watch.h"
#include "lib/base/text.h"

#define SECOND	     INT64_C(1000000000)
#define COMMIT_EVERY (2 * SECOND)
#define IDLE_EVERY   (60 * SECOND) /* when nothing happens, so that a start has less to look for */
#define AGAIN_AFTER  (10 * SECOND) /* without room, or when a scan failed */
#define UNREAD_AFTER (3600 * SECOND) /* when all was looked at but what cannot be */
#define SCAN_SLICE   20000	     /* microseconds */

struct journal {
	char *dir;
	struct volume *volume;
	struct journal_store *store;
	struct watch *watch;
	struct apply *apply;
	struct leave *leave;
	struct scan *scan;
	int live_fd, wake;
	struct journal_live live;
	bool idle;	   /* nothing was applied since the last commit */
	int64_t committed; /* CLOCK_BOOTTIME, like what follows */
	int64_t again; /* not before that: commit after there was no room, scan after a failure */
	int64_t scan_began, scan_wanted;
	int64_t look_again; /* at what could not be looked at */
	int64_t later;	    /* CLOCK_REALTIME: a gap since the scan began, the next one's */
	int64_t offset;	    /* CLOCK_REALTIME less CLOCK_BOOTTIME */
	bool ending;	    /* the scan, with the commit under way */
	atomic_bool commit_asked, scan_asked, begin_asked;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* When the volume began, and whether something may have happened since. */
static void begin_state(struct journal *journal, struct journal_durable *state,
			bool (*was_attached)(int root_fd))
{
	const int fd = volume_fd(journal->volume);
	struct statx st;

	state->root = *volume_root(journal->volume);
	state->fsid = volume_fsid(journal->volume);
	state->since = state->seen = journal_realtime();
	/* Not attached yet: it knows from now on. */
	if (migrate_is_attaching(fd) || (!migrate_has_private(fd) && !was_attached(fd)))
		return;
	/* Finished: what is there may all have been changed since nobody knows when. */
	state->since = state->seen = 0;
	if (statx(fd, MIGRATE_PRIVATE_DIR, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 &&
	    st.stx_mask & STATX_BTIME)
		state->since = state->seen = st.stx_btime.tv_sec * SECOND + st.stx_btime.tv_nsec;
	gap_open(state, state->since, "started after the volume");
}

static bool hold_store(struct journal *journal, GError **error)
{
	g_mkdir_with_parents(journal->dir, 0700);
	journal->live_fd = journal_live_hold(journal->dir, &journal->live);
	if (journal->live_fd >= 0)
		return true;
	g_set_error(error, JOURNAL_ERROR, -journal->live_fd, "%s: %s", journal->dir,
		    journal->live_fd == -EBUSY ? "another migrate-journal runs"
					       : g_strerror(-journal->live_fd));
	return false;
}

/* The way back of an earlier migration may have been closed, not that of a new one. */
static bool is_open(const struct journal *journal, GError **error)
{
	const int fd = volume_fd(journal->volume);

	if (!journal_is_closed(journal->dir))
		return true;
	if (!migrate_has_private(fd) && migrate_is_vacant(fd, true))
		return journal_reopen(journal->dir, error);
	g_set_error(error, JOURNAL_ERROR, ECANCELED,
		    "%s: the way back was closed (migratectl commit): nothing is noted",
		    journal->dir);
	return false;
}

/* Rows of another file system's objects would be taken for those of this one's. */
static bool is_same_volume(const struct journal *journal, const char *root, GError **error)
{
	struct journal_durable *state = journal_store_state(journal->store);

	if (journal_durable_is_of(state, volume_fd(journal->volume))) {
		state->fsid = volume_fsid(journal->volume);
		return true;
	}
	g_set_error(error, JOURNAL_ERROR, EXDEV,
		    "%s: this is the journal of another directory than what %s is now: see that "
		    "the right file system is mounted there, and keep the journal: without it "
		    "there is no way back",
		    journal->dir, root);
	return false;
}

/* The mark is set before anything is believed of the past, so that nothing is in between. */
static bool open_all(struct journal *journal, const char *root, const char *socket,
		     bool (*was_attached)(int root_fd), GError **error)
{
	struct journal_durable *state;

	journal->volume = volume_open(root, error);
	if (!journal->volume || !hold_store(journal, error) || !is_open(journal, error))
		return false;
	journal->watch = watch_new(volume_fd(journal->volume), socket, getpid(), error);
	if (!journal->watch)
		return false;
	journal->store = journal_store_open(journal->dir, error);
	if (!journal->store)
		return false;
	state = journal_store_state(journal->store);
	if (!state->seen)
		begin_state(journal, state, was_attached);
	else if (is_same_volume(journal, root, error))
		gap_start(state);
	else
		return false;
	journal->apply = apply_new(journal->volume, journal->store, state->since);
	journal->leave = leave_new(volume_fd(journal->volume));
	return true;
}

struct journal *journal_new(const char *root, const char *store, const char *socket,
			    bool (*was_attached)(int root_fd), GError **error)
{
	struct journal *journal = g_new0(struct journal, 1);

	journal->dir = g_strdup(store);
	journal->live_fd = -1;
	journal->idle = true;
	journal->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	journal->offset = journal_realtime() - journal_boottime();
	if (open_all(journal, root, socket, was_attached, error) && journal_flush(journal, error)) {
		if (!journal->live.full)
			return journal;
		g_set_error(error, JOURNAL_ERROR, ENOSPC, "%s: no room to begin in", journal->dir);
	}
	journal_free(journal);
	return NULL;
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	watch_free(journal->watch);
	scan_free(journal->scan);
	apply_free(journal->apply);
	leave_free(journal->leave);
	journal_store_close(journal->store);
	if (journal->volume)
		volume_close(journal->volume);
	if (journal->live_fd >= 0)
		close(journal->live_fd);
	close(journal->wake);
	g_free(journal->dir);
	g_free(journal);
}

void journal_ask(struct journal *journal, int signal)
{
	if (signal == JOURNAL_ASK_SCAN)
		journal->scan_asked = true;
	if (signal == JOURNAL_ASK_BEGIN)
		journal->begin_asked = true;
	journal->commit_asked = true;
	eventfd_write(journal->wake, 1);
}

/* ---- committing ------------------------------------------------------------------------------ */

static void publish_live(struct journal *journal)
{
	int ret;

	journal->live.scanning = journal->scan != NULL;
	journal->live.looked_at = journal->scan ? scan_looked_at(journal->scan) : 0;
	ret = journal_live_put(journal->live_fd, &journal->live);
	if (ret)
		g_warning("%s: %s: readers see an old state", journal->dir, g_strerror(-ret));
}

static void stop_scan(struct journal *journal)
{
	scan_free(journal->scan);
	journal->scan = NULL;
}

/* It came to no end: who asked for it still wants it. */
static void give_up_scan(struct journal *journal)
{
	stop_scan(journal);
	journal->scan_began = 0;
}

/* Nothing of the transaction is there: what it was about is a gap. */
static bool no_room(struct journal *journal, GError *why, GError **error)
{
	apply_abort(journal->apply);
	stop_scan(journal);
	journal->ending = false;
	journal->again = journal_boottime() + AGAIN_AFTER;
	if (!g_error_matches(why, JOURNAL_ERROR, ENOSPC)) {
		g_propagate_error(error, why);
		return false;
	}
	if (!journal->live.full)
		g_warning("%s; until then changes are not noted, and a scan finds them later",
			  why->message);
	g_error_free(why);
	journal->live.full = 1;
	publish_live(journal);
	return true;
}

/* Of what was taken from the kernel and is not in the store yet, nothing is forgotten. */
static void begin_anew(struct journal *journal)
{
	struct journal_durable *state = journal_store_state(journal->store);

	stop_scan(journal);
	journal->live.unread = 0;
	apply_free(journal->apply);
	journal_store_abort(journal->store);
	journal_store_clear(journal->store);
	gap_begin(state);
	journal->apply = apply_new(journal->volume, journal->store, state->since);
}

/* A directory that was moved meanwhile may be still to be visited.  What could not be looked at
 * keeps the gap: live.unread says that it is all of it. */
static void close_gap(struct journal *journal)
{
	const char *path;

	journal->ending = journal->scan && scan_end(journal->scan);
	if (journal->ending && !scan_unread(journal->scan, &path))
		gap_close(journal_store_state(journal->store), journal->later);
}

/* What the kernel has given (now: all that it has), and the moment up to which that is all of it,
 * become durable.  What came back meanwhile is the next scan's, so that each one ends. */
static bool commit_rows(struct journal *journal, bool now, GError **error)
{
	struct journal_durable *state = journal_store_state(journal->store);
	const bool begins = journal->begin_asked;
	uint64_t gaps;
	int64_t since;
	struct watched watched;
	unsigned senseless;
	GError *why = NULL;

	if (!watch_take(journal->watch, now, &watched, error))
		return false;
	if (begins)
		begin_anew(journal);
	gaps = state->gaps;
	since = state->seen;
	if (journal->live.full)
		gap_open(state, state->seen, "no room");
	senseless = apply_batch(journal->apply, &watched, journal->scan);
	if (watched.lost != INT64_MAX)
		gap_open(state, watched.lost, "overflow");
	if (senseless)
		gap_open(state, state->seen, "unreadable");
	if (watched.lost != INT64_MAX || senseless || journal->live.full)
		stop_scan(journal); /* it is to begin again: what was moved is not known */
	else if (state->gaps != gaps)
		journal->later = MIN(journal->later, since);
	if (journal->ending)
		close_gap(journal);
	gap_seen(state, watched.seen, watched.settled);
	leave_step(journal->leave, journal->store);
	if (!journal_store_commit(journal->store, &why))
		return no_room(journal, why, error);
	if (begins)
		journal->begin_asked = false;
	if (watched.lost != INT64_MAX)
		g_message("events were lost (overflow); a scan finds what they told");
	if (journal->live.full)
		journal->again = 0;
	journal->live.full = 0;
	journal->live.settled = watched.settled;
	journal->committed = journal_boottime();
	journal->idle = true;
	publish_live(journal);
	return true;
}

bool journal_flush(struct journal *journal, GError **error)
{
	return commit_rows(journal, true, error);
}

/* ---- scanning -------------------------------------------------------------------------------- */

static void start_scan(struct journal *journal)
{
	const struct journal_durable *state = journal_store_state(journal->store);

	journal->scan_began = journal_boottime();
	journal->later = INT64_MAX;
	journal->scan = scan_new(journal->volume, journal->store, gap_from(state), state->since);
	publish_live(journal);
}

static void say_scanned(struct journal *journal, bool was_gap)
{
	struct journal_live *live = &journal->live;
	const char *path;

	live->unread = scan_unread(journal->scan, &path);
	live->part_of = journal_store_state(journal->store)->gaps;
	live->later = journal->later;
	g_strlcpy(live->unread_path, path ? path : "", sizeof(live->unread_path));
	live->scans++;
	live->scanned = journal->scan_began;
	if (live->unread)
		g_warning(TEXT_COUNT " looked at, %" G_GUINT64_FORMAT
				     " cannot be: what was changed there is not known",
			  TEXT_COUNTED(scan_looked_at(journal->scan), "objects"), live->unread);
	else if (was_gap)
		g_message(TEXT_COUNT " looked at: the gap is filled",
			  TEXT_COUNTED(scan_looked_at(journal->scan), "objects"));
}

/* One transaction has the scan's rows and the end of the gap; what was missed meanwhile is a new
 * gap. */
static bool end_scan(struct journal *journal, GError **error)
{
	const bool was_gap = journal_store_state(journal->store)->gap != INT64_MAX;
	bool good;

	journal->ending = true;
	good = commit_rows(journal, true, error);
	if (good && journal->ending) {
		say_scanned(journal, was_gap);
		journal->look_again = journal_boottime() + UNREAD_AFTER;
		stop_scan(journal);
		publish_live(journal);
	}
	journal->ending = false;
	return good;
}

static bool step_scan(struct journal *journal, GError **error)
{
	GError *why = NULL;

	switch (scan_step(journal->scan, SCAN_SLICE, &why)) {
	case SCAN_MORE:
		journal->idle = false;
		return true;
	case SCAN_DONE:
		return end_scan(journal, error);
	default:
		g_warning("%s; the gap stays, and is looked at again", why->message);
		g_error_free(why);
		give_up_scan(journal);
		publish_live(journal);
		journal->again = journal_boottime() + AGAIN_AFTER;
		return true;
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* A clock that is set back brings ctimes from before the gap.  (One that is steered, only, is not
 * let run away from the offset that is known.) */
static void check_clock(struct journal *journal, int64_t now)
{
	const int64_t offset = journal_realtime() - now, back = journal->offset - offset;

	if (back > SECOND) {
		gap_clock(journal_store_state(journal->store), back);
		if (gap_lower(journal_store_state(journal->store), back))
			give_up_scan(journal);
	} else if (back < -SECOND) {
		gap_clock(journal_store_state(journal->store), back);
	}
	journal->offset = offset;
}

static bool is_time(struct journal *journal, enum watch_fill fill, int64_t now)
{
	if (journal->live.full && !journal->commit_asked)
		return now >= journal->again;
	if (journal->commit_asked || fill == WATCH_MUCH)
		return true;
	if (fill == WATCH_SOME)
		journal->idle = false;
	return now - journal->committed >= (journal->idle ? IDLE_EVERY : COMMIT_EVERY);
}

static bool is_scan_due(const struct journal *journal, int64_t now)
{
	const struct journal_durable *state = journal_store_state(journal->store);

	return journal->scan_wanted > journal->scan_began ||
	       journal_live_gap(&journal->live, state->gap, state->gaps) != INT64_MAX ||
	       (journal->live.unread && now >= journal->look_again);
}

bool journal_work(struct journal *journal, int timeout_ms, GError **error)
{
	struct pollfd fds[] = {{.fd = watch_fd(journal->watch), .events = POLLIN},
			       {.fd = journal->wake, .events = POLLIN}};
	int64_t now;
	eventfd_t count;

	poll(fds, G_N_ELEMENTS(fds), journal->scan ? 0 : timeout_ms);
	eventfd_read(journal->wake, &count);
	now = journal_boottime();
	check_clock(journal, now);
	if (journal->scan_asked) {
		journal->scan_asked = false;
		journal->scan_wanted = now;
	}
	if (is_time(journal, watch_fill(journal->watch), now) &&
	    !commit_rows(journal, atomic_exchange(&journal->commit_asked, false), error))
		return false;
	if (!journal->scan && !journal->live.full && now >= journal->again &&
	    is_scan_due(journal, now))
		start_scan(journal);
	return !journal->scan || step_scan(journal, error);
}
