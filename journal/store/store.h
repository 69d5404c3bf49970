/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the journal of a volume, for migrate-journal.  It is told of single events, in their
 * order, and keeps for each object how it differs from what it was at the switch (reader.h says
 * what is kept).
 *
 * Everything since the last commit is one transaction.  What fails (no room, a bad disk) fails the
 * next commit, and with it all of the transaction: the caller then has a gap.  One thread.
 */
#ifndef JOURNAL_STORE_STORE_H
#define JOURNAL_STORE_STORE_H

#include "journal/store/layout.h"

struct journal_store;

struct journal_place {
	struct migrate_binding dir;
	const char *name; /* 1..JOURNAL_NAME_MAX bytes */
};

/* Makes the directory where there is none, and an empty store: state->since is 0 then. */
struct journal_store *journal_store_open(const char *dir, GError **error);
/* What is not committed is lost. */
void journal_store_close(struct journal_store *store);
/* What the next commit writes besides.  `generation` is the store's. */
struct journal_durable *journal_store_state(struct journal_store *store);
/* Blocks for the disk.  true: all is durable.  false with *error: nothing of it is, and the state
 * is that of before. */
bool journal_store_commit(struct journal_store *store, GError **error);
/* Forgets what came since the last commit. */
void journal_store_abort(struct journal_store *store);

/* ---- what happened -------------------------------------------------------------------------- */

/* flags: DATA, META, ENTRIES, SCANNED, DIRECTORY.  place: where it is now, or NULL. */
void journal_store_touch(struct journal_store *store, const struct migrate_binding *object,
			 unsigned flags, const struct journal_place *place);
/* What a scan found: it may have been changed, and renamed.  single: this is its only name. */
void journal_store_seen(struct journal_store *store, const struct migrate_binding *object,
			unsigned flags, const struct journal_place *place, bool single);
/* Its links are others now.  Remembers it until the next commit, so that a name which comes is one
 * more, and not the first of a new object. */
void journal_store_linked(struct journal_store *store, const struct migrate_binding *object);
/* A name came: of a new object, or one more. */
void journal_store_made(struct journal_store *store, const struct migrate_binding *object,
			bool directory, const struct journal_place *place);
void journal_store_removed(struct journal_store *store, const struct migrate_binding *object,
			   bool directory, const struct journal_place *place);
/* from or to is NULL: it came from, or left for, another tree of the file system. */
void journal_store_moved(struct journal_store *store, const struct migrate_binding *object,
			 bool directory, const struct journal_place *from,
			 const struct journal_place *to);
/* Its last name went, or it is no more.  Nothing, if it has no row. */
void journal_store_gone(struct journal_store *store, const struct migrate_binding *object);

enum journal_was { JOURNAL_WAS_UNKNOWN, JOURNAL_WAS_THERE, JOURNAL_WAS_NOT_THERE };
/* Whether the object had the name at the switch, as far as the store says. */
enum journal_was journal_store_was(struct journal_store *store,
				   const struct migrate_binding *object,
				   const struct journal_place *place);
/* The same, and whether it has it now, by who knows better than the order of what happened.
 * Nothing, if it has no row, or was made. */
void journal_store_name(struct journal_store *store, const struct migrate_binding *object,
			const struct journal_place *place, bool was_there, bool is_there);

/* ---- what is known -------------------------------------------------------------------------- */

/* Whether there is a row; row may be NULL. */
bool journal_store_find(struct journal_store *store, const struct migrate_binding *object,
			struct journal_row *row);
/* The row with the lowest handle above `after` (len 0: the first). */
bool journal_store_next(struct journal_store *store, const struct migrate_binding *after,
			struct journal_row *row);

/*
 * Brings a row and its names in line with what is there, after a gap.  there: it exists in the
 * volume. holds: whether a name is this object's now.
 */
typedef bool (*journal_holds_fn)(void *arg, const struct migrate_binding *object,
				 const struct journal_name *name);
void journal_store_correct(struct journal_store *store, const struct migrate_binding *object,
			   bool there, journal_holds_fn holds, void *arg);

/* A scan is through with the directory that came back. */
void journal_store_looked(struct journal_store *store, const struct migrate_binding *object);

/* Drops all rows, with the next commit. */
void journal_store_clear(struct journal_store *store);

/* How many rows are of what was made and is gone. */
uint64_t journal_store_leaving(struct journal_store *store);
/* Drops those that were committed up to this generation: their removal is durable. */
void journal_store_purge(struct journal_store *store, uint64_t generation);

#endif
