/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The old server's tree, as it is mounted here with write rights for the way back: the only code of
 * the project that writes there (I10).
 *
 * A path is below the tree's root, "" the root itself, without "/" at its ends.  It is resolved
 * anew each time, below the root, without symbolic links and other file systems: what somebody puts
 * into a path's place there leads nowhere else.  What is under way stands in OLD_STAGE, a directory
 * in the root: objects that are being written, and those that wait for their new names.
 *
 * Everything blocks for the old server.  0 or -errno unless it is said otherwise.  One thread.
 */
#ifndef OLD_H
#define OLD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "migrate.h"

#define OLD_STAGE MIGRATE_ROLLBACK_DIR

struct old;

/* NULL with error set: one line. */
struct old *old_open(const char *path, GError **error);
void old_close(struct old *old);
/* Makes OLD_STAGE, which shows that the tree can be written. *skew: ns by which the old server's
 * clock is ahead of this one's.  FALSE with error set: one line. */
bool old_begin(struct old *old, int64_t *skew, GError **error);
/* OLD_STAGE was there before: a run was killed, and the root's times may be its doing. */
bool old_was_left(const struct old *old);
/* The mtime that the root had before.  Its ctime moves with OLD_STAGE. */
struct timespec old_root_mtime(const struct old *old);
/* Removes OLD_STAGE if nothing is in it. */
void old_end(struct old *old);

/* As the old server has it now, not as it is cached here. */
int old_stat(struct old *old, const char *path, struct stat *st);
/* A descriptor with O_PATH of what is there, a symbolic link itself; or -errno. */
int old_find(struct old *old, const char *path);
/* Opens a file that exists; flags of open(2).  A descriptor or -errno. */
int old_open_file(struct old *old, const char *path, int flags);

struct old_name {
	uint64_t fileid;
	char name[]; /* NUL-terminated */
};
/* The names in a directory but for OLD_STAGE, of struct old_name by name; NULL with *ret = -errno.
 */
GHashTable *old_list(struct old *old, const char *path, int *ret);

int old_mkdir(struct old *old, const char *path);
/* An empty file, open for writing. */
int old_create(struct old *old, const char *path);
int old_symlink(struct old *old, const char *target, const char *path);
int old_mknod(struct old *old, const char *path, mode_t mode, dev_t device);
int old_link(struct old *old, const char *from, const char *to);
/* directory: it is one. */
int old_rename(struct old *old, const char *from, const char *to, bool directory);
int old_remove(struct old *old, const char *path, bool directory);
/* All that was written so far is durable. */
int old_sync(struct old *old);

/* "dir/name"; g_free. */
char *old_path(const char *dir, const char *name);

#endif
