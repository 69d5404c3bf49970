/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was carried back, object by object, in a store of the way back's own (LMDB): where each is
 * on the old server since, and what it was like there afterwards, so that a change of somebody
 * else's shows.  Who was killed finds here what he was about to do.
 *
 * Before something is done to an object there it is noted, durably, which inode it is done to
 * (touching) or which one takes its place (staged); afterwards what came of it.  So after a kill
 * what is found is either as before, or the staged one, or the one that was being touched.
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
	uint64_t staged;     /* of the one that takes its place; 0: none */
	uint64_t staged_size; /* and what that one is like: ledger_stage() */
	int64_t staged_mtime; /* or which mtime the one that is touched is given */
	uint64_t size;	      /* UINT64_MAX: it is not what is here */
	int64_t mtime, ctime; /* there; ctime 0: not known */
	int64_t version; /* the ctime that it had with the data that it has; 0: that is `ctime` */
	bool touching;
	bool elsewhere; /* it was in no directory of the volume: of another tree */
	GArray *names;	/* of struct ledger_name: where it is there; may be NULL */
	/* Attributes, by name, that it has there from here, where such may be its own, and what
	 * attrs_remember() notes; may be NULL. */
	GHashTable *given;
};
void ledger_clear(struct ledger_entry *object);
/* st: of the one that takes its place. */
void ledger_stage(struct ledger_entry *object, const struct stat *st);
/* Whether it is that one, and no other that got its number when it was removed there.  A directory
 * has its number alone: names come into it. */
bool ledger_is_staged(const struct ledger_entry *object, const struct stat *st);
void ledger_add_name(struct ledger_entry *object, const struct migrate_binding *parent,
		     const char *name);

/* Takes it. */
void ledger_add_given(struct ledger_entry *object, GHashTable *given);

struct ledger;

/* dir: made where it is not there.  id: the journal's; what another one's says is dropped.
 * write: nobody else may carry meanwhile. */
struct ledger *ledger_open(const char *dir, int64_t id, bool write, GError **error);
void ledger_close(struct ledger *ledger);

/* An empty file on the store's disk, which no name leads to, for what has no room in memory.
 * fclose() it. */
FILE *ledger_scratch(struct ledger *ledger, GError **error);

/* FALSE: nothing is known.  ledger_clear() it. */
bool ledger_get(struct ledger *ledger, const struct migrate_binding *handle,
		struct ledger_entry *object);
/* That row of the journal was dealt with in full. */
bool ledger_is_done(struct ledger *ledger, const struct migrate_binding *handle,
		    uint64_t generation);
bool ledger_is_elsewhere(struct ledger *ledger, const struct migrate_binding *handle);
/* Whose counterpart has this fileid, or the one that takes its place: the last that got it. */
bool ledger_find(struct ledger *ledger, uint64_t fileid, struct migrate_binding *handle);
/* Calls fn for each that is being touched, or was when somebody was killed. */
typedef void (*ledger_fn)(void *arg, const struct migrate_binding *handle);
void ledger_each_touching(struct ledger *ledger, ledger_fn fn, void *arg);
/* Whether a run before which the journal had looked at everything came to its end;
 * ledger_scanned(): this one did, and no other has to. */
bool ledger_was_scanned(struct ledger *ledger);
bool ledger_scanned(struct ledger *ledger, bool scanned, GError **error);
/* In memory until ledger_commit(), which blocks for the disk. */
bool ledger_put(struct ledger *ledger, const struct migrate_binding *handle,
		const struct ledger_entry *object, GError **error);
bool ledger_commit(struct ledger *ledger, GError **error);

#endif
