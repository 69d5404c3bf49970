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
#ifndef CTL_ROLLBACK_CARRIED_H
#define CTL_ROLLBACK_CARRIED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/record.h"

struct carried_name {
	struct migrate_binding parent;
	char *name;
};

struct carried_object {
	uint64_t generation; /* of the journal's row that was dealt with; 0: none, or not in full */
	uint64_t fileid;     /* there; 0: it was removed, or is not there yet */
	uint64_t staged;     /* of the one that takes its place; 0: none */
	uint64_t staged_size; /* and what that one is like: carried_stage() */
	int64_t staged_mtime; /* or which mtime the one that is touched is given */
	uint64_t size;	      /* UINT64_MAX: it is not what is here */
	int64_t mtime, ctime; /* there; ctime 0: not known */
	int64_t version; /* the ctime that it had with the data that it has; 0: that is `ctime` */
	bool touching;
	bool elsewhere; /* it was in no directory of the volume: of another tree */
	GArray *names;	/* of struct carried_name: where it is there; may be NULL */
	/* Attributes, by name, that it has there from here, where such may be its own, and what
	 * attrs_remember() notes; may be NULL. */
	GHashTable *given;
};
void carried_clear(struct carried_object *object);
/* st: of the one that takes its place. */
void carried_stage(struct carried_object *object, const struct stat *st);
/* Whether it is that one, and no other that got its number when it was removed there.  A directory
 * has its number alone: names come into it. */
bool carried_is_staged(const struct carried_object *object, const struct stat *st);
void carried_add_name(struct carried_object *object, const struct migrate_binding *parent,
		      const char *name);

/* Takes it. */
void carried_add_given(struct carried_object *object, GHashTable *given);

struct carried;

/* dir: made where it is not there.  id: the journal's; what another one's says is dropped.
 * write: nobody else may carry meanwhile. */
struct carried *carried_open(const char *dir, int64_t id, bool write, GError **error);
void carried_close(struct carried *carried);

/* An empty file on the store's disk, which no name leads to, for what has no room in memory.
 * fclose() it. */
FILE *carried_scratch(struct carried *carried, GError **error);

/* FALSE: nothing is known.  carried_clear() it. */
bool carried_get(struct carried *carried, const struct migrate_binding *handle,
		 struct carried_object *object);
/* That row of the journal was dealt with in full. */
bool carried_is_done(struct carried *carried, const struct migrate_binding *handle,
		     uint64_t generation);
bool carried_is_elsewhere(struct carried *carried, const struct migrate_binding *handle);
/* Whose counterpart has this fileid, or the one that takes its place: the last that got it. */
bool carried_find(struct carried *carried, uint64_t fileid, struct migrate_binding *handle);
/* Calls fn for each that is being touched, or was when somebody was killed. */
typedef void (*carried_fn)(void *arg, const struct migrate_binding *handle);
void carried_each_touching(struct carried *carried, carried_fn fn, void *arg);
/* Whether a run before which the journal had looked at everything came to its end;
 * carried_scanned(): this one did, and no other has to. */
bool carried_was_scanned(struct carried *carried);
bool carried_scanned(struct carried *carried, bool scanned, GError **error);
/* In memory until carried_commit(), which blocks for the disk. */
bool carried_put(struct carried *carried, const struct migrate_binding *handle,
		 const struct carried_object *object, GError **error);
bool carried_commit(struct carried *carried, GError **error);

#endif
