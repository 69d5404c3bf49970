/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/reader.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "journal/store/env.h"
#include "journal/store/live.h"

#define POLL_US 20000 /* at most */
#define FULL_NS (INT64_C(2) * 1000000000)

struct journal_reader {
	struct journal_env env;
	MDB_txn *txn;
	struct journal_durable state; /* of the snapshot */
	const bool *stop;	      /* or NULL */
	struct journal_env_pages pages;
};

static bool snapshot(struct journal_reader *reader, GError **error)
{
	int ret = reader->txn ? mdb_txn_renew(reader->txn)
			      : mdb_txn_begin(reader->env.env, NULL, MDB_RDONLY, &reader->txn);

	if (ret)
		return journal_env_fail(&reader->env, ret, error);
	return journal_env_load(&reader->env, reader->txn, &reader->state, error);
}

struct journal_reader *journal_open(const char *dir, GError **error)
{
	struct journal_reader *reader = g_new0(struct journal_reader, 1);

	if (journal_env_open(&reader->env, dir, false, error) && snapshot(reader, error))
		return reader;
	journal_close(reader);
	return NULL;
}

void journal_close(struct journal_reader *reader)
{
	if (!reader)
		return;
	if (reader->txn)
		mdb_txn_abort(reader->txn);
	journal_env_close(&reader->env);
	g_free(reader);
}

void journal_set_stop(struct journal_reader *reader, const bool *stop)
{
	reader->stop = stop;
}

bool journal_refresh(struct journal_reader *reader, GError **error)
{
	mdb_txn_reset(reader->txn);
	return snapshot(reader, error);
}

/* ---- state ----------------------------------------------------------------------------------- */

static uint64_t bytes_used(struct journal_reader *reader)
{
	MDB_envinfo info;
	MDB_stat stat;

	if (mdb_env_info(reader->env.env, &info) || mdb_env_stat(reader->env.env, &stat))
		return 0;
	return ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
}

bool journal_state(struct journal_reader *reader, struct journal_state *state, GError **error)
{
	const struct journal_durable *durable = &reader->state;
	struct journal_live live = {0};
	/* One that has just been started has not said yet that it is one more gap. */
	const bool running = journal_live_get(reader->env.dir, &live) > 0 && live.settled;
	MDB_stat stat;
	int ret = mdb_stat(reader->txn, reader->env.rows, &stat);

	if (ret)
		return journal_env_fail(&reader->env, ret, error);
	*state = (struct journal_state){
		.running = running,
		.scanning = running && live.scanning,
		.full = live.full,
		.id = durable->since ^ (int64_t)durable->salt,
		.since = durable->since,
		.seen = durable->seen,
		.back = durable->back * INT64_C(1000000000),
		.gap = durable->gap,
		.gaps = durable->gaps,
		.filled = durable->filled,
		.generation = durable->generation,
		.rows = stat.ms_entries,
		.bytes = bytes_used(reader),
		.maybe = durable->maybe,
		.looked_at = live.looked_at,
		.scans = live.scans,
		.unread = running && live.part_of == durable->gaps ? live.unread : 0,
		.scanned =
			live.scanned ? live.scanned + journal_realtime() - journal_boottime() : 0,
	};
	state->complete = running && !live.full && durable->gap == INT64_MAX && !state->unread;
	g_strlcpy(state->reason, durable->reason, sizeof(state->reason));
	if (state->unread)
		g_strlcpy(state->unread_path, live.unread_path, sizeof(state->unread_path));
	return true;
}

bool journal_is_of(const struct journal_reader *reader, int root_fd)
{
	return journal_durable_is_of(&reader->state, root_fd);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool fail_damaged(struct journal_reader *reader, GError **error)
{
	return journal_env_fail(&reader->env, MDB_CORRUPTED, error);
}

/* As LMDB says. */
static int get_row(struct journal_reader *reader, const struct migrate_binding *handle,
		   struct journal_row *row)
{
	uint8_t bytes[JOURNAL_KEY_MAX];
	MDB_val key = {journal_key_encode(handle, bytes), bytes}, value;
	int ret = mdb_get(reader->txn, reader->env.rows, &key, &value);

	memset(row, 0, sizeof(*row));
	row->handle = *handle;
	journal_env_let_go(reader->env.env, &reader->pages);
	return !ret && !journal_row_decode(value.mv_data, value.mv_size, row) ? MDB_CORRUPTED : ret;
}

bool journal_has_row(struct journal_reader *reader, const struct migrate_binding *handle,
		     struct journal_row *row)
{
	return !get_row(reader, handle, row);
}

enum journal_answer journal_find(struct journal_reader *reader,
				 const struct migrate_binding *handle, struct journal_row *row,
				 GError **error)
{
	struct journal_state state;
	int ret = get_row(reader, handle, row);

	if (!ret)
		return JOURNAL_CHANGED;
	if (ret != MDB_NOTFOUND) {
		journal_env_fail(&reader->env, ret, error);
		return JOURNAL_FAILED;
	}
	if (!journal_state(reader, &state, error))
		return JOURNAL_FAILED;
	return state.complete ? JOURNAL_UNCHANGED : JOURNAL_UNKNOWN;
}

bool journal_names(struct journal_reader *reader, const struct migrate_binding *handle,
		   journal_name_fn fn, void *arg, GError **error)
{
	uint8_t bytes[JOURNAL_KEY_MAX];
	MDB_val key = {journal_key_encode(handle, bytes), bytes}, value;
	MDB_cursor *cursor;
	bool good = true, more = true;
	int ret = mdb_cursor_open(reader->txn, reader->env.names, &cursor);

	if (ret)
		return journal_env_fail(&reader->env, ret, error);
	ret = mdb_cursor_get(cursor, &key, &value, MDB_SET);
	while (!ret && good && more) {
		struct journal_name name;

		good = journal_name_decode(value.mv_data, value.mv_size, &name);
		more = good && fn(arg, &name);
		ret = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_DUP);
	}
	mdb_cursor_close(cursor);
	if (!good)
		return fail_damaged(reader, error);
	return !ret || ret == MDB_NOTFOUND || journal_env_fail(&reader->env, ret, error);
}

bool journal_each(struct journal_reader *reader, uint64_t after, journal_row_fn fn, void *arg,
		  GError **error)
{
	uint64_t from = after + 1;
	MDB_val key = {sizeof(from), &from}, value;
	MDB_cursor *cursor;
	bool good = true, more = true;
	int ret = mdb_cursor_open(reader->txn, reader->env.order, &cursor);

	if (ret)
		return journal_env_fail(&reader->env, ret, error);
	ret = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	while (!ret && good && more) {
		struct journal_row row;
		MDB_val found;

		memset(&row, 0, sizeof(row));
		journal_env_let_go(reader->env.env, &reader->pages);
		good = journal_key_decode(value.mv_data, value.mv_size, &row.handle) &&
		       !mdb_get(reader->txn, reader->env.rows, &value, &found) &&
		       journal_row_decode(found.mv_data, found.mv_size, &row);
		more = good && fn(arg, &row);
		ret = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	if (!good)
		return fail_damaged(reader, error);
	return !ret || ret == MDB_NOTFOUND || journal_env_fail(&reader->env, ret, error);
}

struct names_count {
	uint64_t made, gone;
};

static bool count_name(void *arg, const struct journal_name *name)
{
	struct names_count *count = arg;

	count->made += name->kind == JOURNAL_NAME_MADE;
	count->gone += name->kind == JOURNAL_NAME_GONE;
	return true;
}

bool journal_was_made(struct journal_reader *reader, const struct journal_row *row, uint64_t links,
		      bool *made, GError **error)
{
	struct names_count count = {0};

	*made = row->flags & JOURNAL_MADE;
	if (*made || !(row->flags & JOURNAL_NAMES))
		return true;
	if (!journal_names(reader, &row->handle, count_name, &count, error))
		return false;
	*made = !count.gone && count.made && count.made >= links;
	return true;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool set_reader_error(struct journal_reader *reader, int code, const char *why,
			     GError **error)
{
	g_set_error(error, JOURNAL_ERROR, code, "%s: %s", reader->env.dir, why);
	return false;
}

/* A gap since then does not matter: where directories come back again and again there is always
 * one. */
static bool is_settled(struct journal_reader *reader, const struct journal_live *live,
		       int64_t asked, bool scan)
{
	const int64_t gap = journal_live_gap(live, reader->state.gap, reader->state.gaps);

	return !live->full && live->settled >= asked &&
	       gap >= asked + journal_realtime() - journal_boottime() &&
	       (!scan || live->scanned >= asked);
}

bool journal_settle(struct journal_reader *reader, bool scan, int timeout_ms, GError **error)
{
	const int64_t asked = journal_boottime();
	int64_t signalled = 0;
	unsigned poll_us = 500;

	for (;;) {
		struct journal_live live = {0};
		const pid_t pid = journal_live_get(reader->env.dir, &live);
		const int64_t now = journal_boottime();

		if (pid <= 0)
			return set_reader_error(reader, ESRCH,
						"no migrate-journal is running: systemctl start "
						"migrate-journal@NAME",
						error);
		if (reader->stop && *reader->stop)
			return set_reader_error(reader, ECANCELED, "stopped", error);
		/* It may have been asked to try once more. */
		if (live.full && now - asked > FULL_NS)
			return set_reader_error(
				reader, ENOSPC,
				"there is no room for the journal: make some on that file "
				"system",
				error);
		if (!journal_refresh(reader, error))
			return false;
		if (is_settled(reader, &live, asked, scan))
			return true;
		if (timeout_ms >= 0 && now - asked > timeout_ms * INT64_C(1000000) &&
		    !(scan && live.scanning))
			return set_reader_error(
				reader, ETIMEDOUT,
				"the journal is not up to date yet: try again later", error);
		/* Again after a while: it may have been started anew meanwhile. */
		if (!signalled || now - signalled > INT64_C(1000000000)) {
			kill(pid, scan && live.scanned < asked && !live.scanning
					  ? JOURNAL_ASK_SCAN
					  : JOURNAL_ASK_COMMIT);
			signalled = now;
		}
		g_usleep(poll_us);
		poll_us = MIN(poll_us * 2, POLL_US);
	}
}
