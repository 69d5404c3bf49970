/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What clients changed on a volume since the switch, for those who read the journal (journal/store
 * keeps it; migrate-journal writes it).
 *
 * The journal has one row for each object that clients, or anybody but the retriever, made,
 * changed, moved or removed.  An object is known by its kernel handle (struct migrate_binding,
 * name_to_handle_at(2)), which no rename changes.  What has no row was not changed, as far as
 * journal_state.complete says that nothing is missing.  Rows may tell too much (an object is as it
 * was again; a server's own work on extended attributes; what the retriever brought while a gap
 * lasted): readers compare with what is there.  They never tell too little.
 *
 * How to come from the old tree to the new one:
 *
 *  - The names that an object had at the switch are those it has now, without its
 * JOURNAL_NAME_MADE, with its JOURNAL_NAME_GONE.  A name is its directory's handle and a component;
 * the path at the switch is found by asking the same of the directory, up to the root.
 *  - Whatever is below a directory with JOURNAL_MADE, and has no row of its own, came with it (a
 * tree that was moved in from elsewhere on the file system): it was made.  In the same way what was
 *    below a directory with JOURNAL_GONE, and has no row, is gone with it.
 *  - A directory with JOURNAL_ENTRIES has to be compared with its old listing, name by name.
 *    Some things have no row: what was made and removed again; a name that a rename replaced (of
 *    the object that had it the kernel does not tell the name: it is gone, or has other links);
 *    and, with JOURNAL_SCANNED, what happened in the gap: a rename looks like a name that went
 *    and another that came, and the name that an object of that flag had at first may be one that
 *    it got in the gap.
 *  - An object whose link count is 0 is gone, also without JOURNAL_GONE: somebody had it open.
 *
 * Threads: one reader, one thread.  A process opens a store once at a time, and does not fork with
 * it open (LMDB).  Nothing here waits for migrate-journal but journal_settle().  Errors: false
 * or JOURNAL_FAILED with *error set to one line that names the store and says what to do.
 */
#ifndef JOURNAL_STORE_READER_H
#define JOURNAL_STORE_READER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/store/row.h"

struct journal_state {
	bool running;	/* a migrate-journal watches now */
	bool scanning;	/* ... and looks for what was changed in a gap */
	bool full;	/* there was no room for rows; what came since is a gap */
	bool complete;	/* running, no gap, not full: no change until `seen` is missing */
	int64_t id;	/* of the store, and its `since`: generations are of one such alone */
	int64_t since;	/* CLOCK_REALTIME, ns: the journal knows all changes from here on */
	int64_t seen;	/* ... to here: all before has its row; moves every few seconds */
	int64_t gap;	/* changes since then may have no row yet; INT64_MAX: there is no gap */
	uint64_t gaps;	/* that there were; each was filled, or is `gap` */
	int64_t filled; /* when the last of them was filled, or 0 */
	uint64_t generation;  /* of the last commit */
	uint64_t rows, bytes; /* how many; what the store takes on disk */
	uint64_t maybe;	      /* of the rows, those with JOURNAL_MAYBE */
	uint64_t looked_at;   /* objects that the scan under way has seen */
	uint64_t scans;	      /* that were finished, journal_settle()'s too */
	/* CLOCK_REALTIME, ns: when the last of them began, 0: none in this boot.  What was done
	 * before in ways that the kernel does not tell has its row, too. */
	int64_t scanned;
	/* What a scan could not look at, and the path of one ("": not known): what was changed
	 * there or below it has no row.  The rest of the gap is filled. */
	uint64_t unread;
	char unread_path[256];
	int64_t back;	 /* ns that the clock was set back since the switch, all in all, or more */
	char reason[64]; /* why there was the last gap: "start", "overflow", "clock", ... or "" */
};

struct journal_reader;

/* dir: of the store, as the configuration says, which has to be writable (readers register).  Takes
 * the first snapshot.  NULL with JOURNAL_ERROR, ENOENT: there is none (never started, or
 * committed). */
struct journal_reader *journal_open(const char *dir, GError **error);
void journal_close(struct journal_reader *reader);

/*
 * All that is read comes from one snapshot, until the next one is taken.  Room that rows
 * leave is not used again while a snapshot is kept: hold it for minutes, not for hours.
 */
bool journal_refresh(struct journal_reader *reader, GError **error);
/* What is now for running, scanning and full; the rest as of the snapshot. */
bool journal_state(struct journal_reader *reader, struct journal_state *state, GError **error);

/* Whether root_fd, no O_PATH, is the root of the volume whose changes these are. */
bool journal_is_of(const struct journal_reader *reader, int root_fd);

enum journal_answer {
	JOURNAL_UNCHANGED, /* no row, and nothing is missing */
	JOURNAL_CHANGED,   /* *row is filled */
	JOURNAL_UNKNOWN,   /* no row, but a gap is not filled, or nobody watches: cannot be said */
	JOURNAL_FAILED,
};
/* Whether there is one, which is read to *row, whatever may be missing. */
bool journal_has_row(struct journal_reader *reader, const struct migrate_binding *handle,
		     struct journal_row *row);
/* Changes until state.seen count.  To ask about what is now: journal_settle() first. */
enum journal_answer journal_find(struct journal_reader *reader,
				 const struct migrate_binding *handle, struct journal_row *row,
				 GError **error);

/* The names that are not as at the switch; those of an object that was made are not kept (its row
 * has the last one).  Calls fn for each, until it returns false.  fn does not use the reader. */
typedef bool (*journal_name_fn)(void *arg, const struct journal_name *name);
bool journal_names(struct journal_reader *reader, const struct migrate_binding *handle,
		   journal_name_fn fn, void *arg, GError **error);

/*
 * Calls fn for each row whose generation is above `after` (0: all), the oldest change first, until
 * it returns false.  fn may call journal_find() and journal_names(), and not journal_refresh().
 *
 * Who follows keeps the snapshot's state.generation G in a store of its own once everything up to
 * it was dealt with, and asks for what is after G the next time.  A row that was touched again
 * comes again.  What was made and removed again leaves the journal after a while (JOURNAL_MADE with
 * JOURNAL_GONE until then): its directory's JOURNAL_ENTRIES, of a later generation, tells.
 */
typedef bool (*journal_row_fn)(void *arg, const struct journal_row *row);
bool journal_each(struct journal_reader *reader, uint64_t after, journal_row_fn fn, void *arg,
		  GError **error);

/* When *stop becomes true, journal_settle() ends (ECANCELED).  NULL: it does not. */
void journal_set_stop(struct journal_reader *reader, const bool *stop);
/*
 * Waits until everything that happened before the call is in the store, and takes a new snapshot.
 * scan: also looks at every object's ctime for what sends no notification before the file is closed
 * (a file that is written through a mapping or by AIO just now); that is a walk of the whole
 * tree.  A gap that is not filled yet is waited for as well, but not for one that begins later, nor
 * for what cannot be looked at (state.unread).  timeout_ms -1: as long as it takes; with scan it
 * does not end while one is under way.  false with *error: nobody watches
 * (ESRCH), it takes longer (ETIMEDOUT), full (ENOSPC).
 */
bool journal_settle(struct journal_reader *reader, bool scan, int timeout_ms, GError **error);

/*
 * Whether an object was not there at the switch.  links: of the inode now.  JOURNAL_MADE says so,
 * and for what came to be as links of a file without a name (O_TMPFILE): all its names are
 * JOURNAL_NAME_MADE, none is JOURNAL_NAME_GONE.
 */
bool journal_was_made(struct journal_reader *reader, const struct journal_row *row, uint64_t links,
		      bool *made, GError **error);

#endif
