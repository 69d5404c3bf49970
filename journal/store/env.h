/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The LMDB environment of a store, and its tables (layout.h). */
#ifndef JOURNAL_STORE_ENV_H
#define JOURNAL_STORE_ENV_H

#include <lmdb.h>

#include "journal/store/layout.h"

/* Of addresses, not of disk: what a store may grow to, 600 million objects. */
#define JOURNAL_MAP_SIZE  ((size_t)64 << 30)
#define JOURNAL_DATA_FILE "data.mdb"
#define JOURNAL_LOCK_FILE "lock.mdb"

struct journal_env {
	char *dir;
	MDB_env *env;
	MDB_dbi rows, names, order, leaving, state;
};

/* write: makes what is not there.  false with *error; then *env is closed. */
bool journal_env_open(struct journal_env *env, const char *dir, bool write, GError **error);
void journal_env_close(struct journal_env *env);
/* 0 or -errno: -ENOSPC where there is no room in the map or on disk. */
int journal_env_errno(int lmdb);
/* *error for what LMDB returned.  false. */
bool journal_env_fail(const struct journal_env *env, int lmdb, GError **error);

/* false with *error: it cannot be read, is damaged, or of another version; ENOENT: there is none.
 */
bool journal_env_load(const struct journal_env *env, MDB_txn *txn, struct journal_durable *state,
		      GError **error);

/*
 * To be called with each page that is looked for: now and then the pages of an environment's file
 * leave this process's memory, where they count as its own although the kernel may take them at any
 * time.  Nothing of them changes, and pointers into them stay right.  *pages: begins with zeros.
 */
struct journal_env_pages {
	unsigned looked;
	void *map;
	size_t size;
};
void journal_env_let_go(MDB_env *env, struct journal_env_pages *pages);

#endif
