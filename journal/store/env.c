/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/store/env.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define FULL_BELOW (4 << 20)
#define LOOKS_MAX  256 /* the kernel maps 64 KiB around each page */

int journal_env_errno(int lmdb)
{
	if (lmdb == MDB_MAP_FULL)
		return -ENOSPC;
	return lmdb > 0 ? -lmdb : lmdb ? -EIO : 0;
}

/* LMDB says EIO where a file system took only part of what it wrote. */
static bool is_full(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && fs.f_bavail * fs.f_frsize < FULL_BELOW;
}

bool journal_env_fail(const struct journal_env *env, int lmdb, GError **error)
{
	int code = -journal_env_errno(lmdb);

	if (code == ENOENT || lmdb == MDB_NOTFOUND)
		g_set_error(error, JOURNAL_ERROR, ENOENT,
			    "%s: there is no journal: it was not started yet "
			    "(migrate-journal@NAME), or the way back was closed",
			    env->dir);
	else if (code == ENOSPC || code == EDQUOT || (code == EIO && is_full(env->dir)))
		g_set_error(error, JOURNAL_ERROR, ENOSPC,
			    "%s: no room for the journal: make some on that file system", env->dir);
	else
		g_set_error(error, JOURNAL_ERROR, code,
			    "%s: %s: the journal cannot be used, or is damaged: see its file "
			    "system and the kernel's log, and keep it: without it there is no way "
			    "back",
			    env->dir, mdb_strerror(lmdb));
	return false;
}

static int open_tables(struct journal_env *env, bool write)
{
	const unsigned make = write ? MDB_CREATE : 0;
	const struct {
		const char *name;
		unsigned flags;
		MDB_dbi *table;
	} tables[] = {
		{"rows", 0, &env->rows},
		{"names", MDB_DUPSORT, &env->names},
		{"order", MDB_DUPSORT | MDB_INTEGERKEY, &env->order},
		{"leaving", 0, &env->leaving},
		{"state", 0, &env->state},
	};
	MDB_txn *txn;
	int ret = mdb_txn_begin(env->env, NULL, write ? 0 : MDB_RDONLY, &txn);

	if (ret)
		return ret;
	for (size_t i = 0; i < G_N_ELEMENTS(tables) && !ret; i++)
		ret = mdb_dbi_open(txn, tables[i].name, tables[i].flags | make, tables[i].table);
	if (!ret)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return ret;
}

bool journal_env_open(struct journal_env *env, const char *dir, bool write, GError **error)
{
	int ret = mdb_env_create(&env->env);

	env->dir = g_strdup(dir);
	if (!ret)
		ret = mdb_env_set_maxdbs(env->env, 5);
	if (!ret)
		ret = mdb_env_set_mapsize(env->env, JOURNAL_MAP_SIZE);
	if (!ret)
		ret = mdb_env_open(env->env, dir, MDB_NORDAHEAD | (write ? 0 : MDB_RDONLY), 0600);
	if (!ret)
		ret = open_tables(env, write);
	if (!ret)
		return true;
	journal_env_fail(env, ret, error);
	journal_env_close(env);
	return false;
}

void journal_env_close(struct journal_env *env)
{
	if (env->env)
		mdb_env_close(env->env);
	g_free(env->dir);
	memset(env, 0, sizeof(*env));
}

bool journal_env_load(const struct journal_env *env, MDB_txn *txn, struct journal_durable *state,
		      GError **error)
{
	MDB_val key = {5, "state"}, value;
	int ret = mdb_get(txn, env->state, &key, &value);

	if (ret)
		return journal_env_fail(env, ret, error);
	if (value.mv_size == sizeof(*state)) {
		memcpy(state, value.mv_data, sizeof(*state));
		if (state->format == JOURNAL_FORMAT &&
		    memchr(state->reason, 0, sizeof(state->reason)))
			return true;
	}
	g_set_error(error, JOURNAL_ERROR, EINVAL,
		    "%s: the journal is damaged, or of another version: read it with that one, and "
		    "keep it: without it there is no way back",
		    env->dir);
	return false;
}

/* LMDB tells no address, and keeps it as long as the environment is open. */
static void find_map(MDB_env *env, struct journal_env_pages *pages)
{
	unsigned long start, end, inode;
	char line[4096 + 256];
	mdb_filehandle_t fd;
	struct stat st;
	FILE *maps;

	if (mdb_env_get_fd(env, &fd) || fstat(fd, &st) < 0)
		return;
	maps = fopen("/proc/self/maps", "re");
	while (maps && !pages->size && fgets(line, sizeof(line), maps))
		/* what else is mapped of a file is as easily had again */
		if (sscanf(line, "%lx-%lx r--s %*x %*x:%*x %lu", &start, &end, &inode) == 3 &&
		    inode == st.st_ino) {
			pages->map = (void *)start;
			pages->size = end - start;
		}
	if (maps)
		fclose(maps);
}

void journal_env_let_go(MDB_env *env, struct journal_env_pages *pages)
{
	if (++pages->looked % LOOKS_MAX)
		return;
	if (!pages->size)
		find_map(env, pages);
	madvise(pages->map, pages->size, MADV_DONTNEED);
}
