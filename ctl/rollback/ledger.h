/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was carried back, object by object, in a store of the way back's own (LMDB): where each
 * object is on the old server since then, and what it was like there afterwards, so that a change
 * by somebody else shows.  After a kill the next run finds here what the killed one was about to
 * do.
 *
 * Before something is done to an object there, the ledger notes, durably, which inode it is done to
 * (touching) or which one takes its place (staged); afterwards it notes the result.  So the object
 * that is found after a kill is unchanged, or is the staged one, or the one that was being touched.
 *
 * One process, one thread.  Errors: false with *error, one line that names the store.
 */
#ifndef CTL_ROLLBACK_LEDGER_H
#define CTL_ROLLBACK_LEDGER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/record.h"

struct ledger_name {
	struct migrate_binding parent;
	char *name;
};

struct ledger_entry {
	uint64_t generation; /* of the journal's row that was dealt with; 0: none, or not in full */
	uint64_t fileid;     /* there; 0: it was removed, or is not there yet */
	uint64_t staged;     /* fileid of the object that takes its place; 0: none */
	uint64_t staged_size; /* its size; ledger_stage() */
	int64_t staged_mtime; /* its mtime; while touching: the mtime that is being given */
	uint64_t size;	      /* there; UINT64_MAX: the object there is not what is here */
	int64_t mtime, ctime; /* there; ctime 0: not known */
	int64_t version;      /* the ctime that it had when it got its data; 0: that is `ctime` */
	bool touching;
	bool elsewhere; /* it was in no directory of the volume: it is another tree's */
	GArray *names;	/* of struct ledger_name: where it is there; may be NULL */
	/* Names of attributes that it has there from here, where it might have one of its own, and
	 * the notes of attrs_remember(); may be NULL. */
	GHashTable *given;
};
void ledger_clear(struct ledger_entry *object);
/* Notes the object that takes its place, which has the attributes st. */
void ledger_stage(struct ledger_entry *object, const struct stat *st);
/* Whether st is that object, and not another one that got its fileid after it was removed there.
 * Of a directory the fileid alone is compared: names come into it. */
bool ledger_is_staged(const struct ledger_entry *object, const struct stat *st);
void ledger_add_name(struct ledger_entry *object, const struct migrate_binding *parent,
		     const char *name);

/* Takes given over. */
void ledger_add_given(struct ledger_entry *object, GHashTable *given);

struct ledger;

/* dir: made if it is not there.  id: the journal's; what was noted for another journal is dropped.
 * write: no other process may carry meanwhile. */
struct ledger *ledger_open(const char *dir, int64_t id, bool write, GError **error);
void ledger_close(struct ledger *ledger);

/* A new empty file on the store's disk, without a name, for what has no room in memory.  fclose()
 * it. */
FILE *ledger_scratch(struct ledger *ledger, GError **error);

/* FALSE: nothing is known.  Call ledger_clear() afterwards. */
bool ledger_get(struct ledger *ledger, const struct migrate_binding *handle,
		struct ledger_entry *object);
/* Whether that row of the journal was dealt with in full. */
bool ledger_is_done(struct ledger *ledger, const struct migrate_binding *handle,
		    uint64_t generation);
bool ledger_is_elsewhere(struct ledger *ledger, const struct migrate_binding *handle);
/* Finds the object whose counterpart on the old server, or the one that takes its place, has this
 * fileid: the last that got it. */
bool ledger_find(struct ledger *ledger, uint64_t fileid, struct migrate_binding *handle);
/* Calls fn for each object that is being touched, or was when a run was killed. */
typedef void (*ledger_fn)(void *arg, const struct migrate_binding *handle);
void ledger_each_touching(struct ledger *ledger, ledger_fn fn, void *arg);
/* Whether a run before which the journal had scanned everything came to its end.  ledger_scanned()
 * notes that this one did, so that no other one has to, or with FALSE forgets it. */
bool ledger_was_scanned(struct ledger *ledger);
bool ledger_scanned(struct ledger *ledger, bool scanned, GError **error);
/* The note is in memory until ledger_commit(), which blocks for the disk. */
bool ledger_put(struct ledger *ledger, const struct migrate_binding *handle,
		const struct ledger_entry *object, GError **error);
bool ledger_commit(struct ledger *ledger, GError **error);

#endif
