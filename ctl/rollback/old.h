/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The old server's tree, with write rights for the way back: as it is mounted here (old_mount.c),
 * or by SMB (old_smb.c).  The only code of the project that writes there (I10).
 *
 * A path is below the tree's root, "" the root itself, without "/" at its ends.  It is resolved
 * anew each time, below the root, without symbolic links and other file systems: what somebody puts
 * into a path's place there leads nowhere else.  What is under way stands in OLD_STAGE, a directory
 * in the root: objects that are being written, and those that wait for their new names.
 *
 * Everything blocks for the old server.  0 or -errno unless it is said otherwise.  One thread, but
 * for old_takes_several().
 */
#ifndef CTL_ROLLBACK_OLD_H
#define CTL_ROLLBACK_OLD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/migrate.h"
#include "ctl/rollback/attrs.h"

#define OLD_STAGE MIGRATE_ROLLBACK_DIR

struct old;
struct volume_config;

/* NULL with error set: one line. */
struct old *old_open(const char *path, GError **error);
/* url: smb://; with what config says of passwords, which is a log-on of the way back's own. */
struct old *old_open_smb(const char *url, const struct volume_config *config, GError **error);
void old_close(struct old *old);
/* Makes OLD_STAGE, which shows that the tree can be written, and is ours alone. *skew: ns by which
 * the old server's clock is ahead of this one's, or less, by what a request takes.  FALSE with
 * error set: one line.
 */
bool old_begin(struct old *old, int64_t *skew, GError **error);
/* A step of one object failed (-errno): writes a file there, so that it is durable, and removes it.
 * 0: that was this object's alone; -errno: nothing can be done there. */
int old_try(struct old *old, int failed);
/* OLD_STAGE was there before: a run was killed, and the root's times may be its doing. */
bool old_was_left(const struct old *old);
/* The times that the root had before.  Its ctime (ns) moves with OLD_STAGE. */
struct timespec old_root_mtime(const struct old *old);
int64_t old_root_ctime(const struct old *old);
/* Removes OLD_STAGE if nothing is in it. */
void old_end(struct old *old);

/* Whether its objects have descriptors instead of owners, modes and ACLs: st_mode has the type
 * alone. */
bool old_has_descriptors(const struct old *old);
/* Several threads may make objects in OLD_STAGE, remove files there, have one open each, and sync,
 * while one does whatever it wants to files. */
bool old_takes_several(const struct old *old);
/* Whether it would be OLD_STAGE there, or in it. */
bool old_is_stage(const struct old *old, const char *path);
/* Why an object of that type cannot be there by that path, a sentence without the object; NULL: it
 * can. */
const char *old_objection(const struct old *old, const char *path, mode_t mode);

/* As the old server has it now, not as it is cached here. */
int old_stat(struct old *old, const char *path, struct stat *st);
/* The text of a symbolic link; g_free.  NULL with *ret = -errno. */
char *old_read_link(struct old *old, const char *path, int *ret);
/* As attrs_read_xattr(), of what may have an ACL.  NULL: it has none, or *ret = -errno. */
GBytes *old_read_xattr(struct old *old, const char *path, const char *name, int *ret);
/* The file has what no copy of it that is made here, with these, would have. */
bool old_holds_more(struct old *old, const char *path, const struct attrs *attrs);

struct old_file;
struct old_name {
	uint64_t fileid;
	char name[]; /* NUL-terminated */
};
/* The names in a directory but for OLD_STAGE, of struct old_name by name, in upper and lower case
 * alike where that is the same to the old server; NULL with *ret = -errno. */
GHashTable *old_list(struct old *old, const char *path, int *ret);

/* For old_ops.h: one more. */
void old_add_name(GHashTable *names, const char *name, uint64_t fileid);

int old_mkdir(struct old *old, const char *path);
/* An empty file.  *file: old_file_close() it; NULL: it is closed. */
int old_create(struct old *old, const char *path, struct old_file **file);
int old_symlink(struct old *old, const char *target, const char *path);
int old_mknod(struct old *old, const char *path, mode_t mode, dev_t device);
/* -EOPNOTSUPP: the old server has no further names. */
int old_link(struct old *old, const char *from, const char *to);
/* directory: it is one. */
int old_rename(struct old *old, const char *from, const char *to, bool directory);
/* -EEXIST: something is there.  (A directory that is moved by NFS takes the place of an empty one.)
 */
int old_rename_new(struct old *old, const char *from, const char *to, bool directory);
/*
 * `from`, in OLD_STAGE, comes to `to`, and what stands there, which is no directory, to `out`,
 * which is in OLD_STAGE, too: nobody finds it by a path any more.  In one step where the file
 * system can exchange names; else `to` is never without a file on a mount, and over SMB it is for
 * one round trip, while no other has it open to write.  Where there are neither links nor exchanges
 * nothing comes to `out`.
 */
int old_replace(struct old *old, const char *from, const char *to, const char *out);
#define OLD_IN_USE "somebody has it open there, or the server is busy; the next run tries again"
/* Whether another has the file open to write, where that can be known: on a local file system. */
bool old_is_open(struct old *old, const char *path);
int old_remove(struct old *old, const char *path, bool directory);
/* All that was written so far is durable, but for names in those of old_unsynced(). */
int old_sync(struct old *old);
/* A set of paths of directories that somebody has to himself there, so that the last sync did not
 * make them durable; NULL: none. */
GHashTable *old_unsynced(struct old *old);
/* An earlier run may have changed names in the directory: the next sync makes it durable as well.
 */
void old_sync_names(struct old *old, const char *dir);

/* ---- giving to one object -------------------------------------------------------------------- */

/* data: a file whose data are to be written, too; on a local file system nobody has it open to
 * write then (-EAGAIN), and if nobody reads it either, opens wait meanwhile.  old_file_close() it.
 */
int old_file_open(struct old *old, const char *path, bool data, struct old_file **file);
void old_file_close(struct old_file *file);
/* As old_stat(), of what is open, where that is by a descriptor.  -EBUSY: somebody may have written
 * to it meanwhile. */
int old_file_stat(struct old_file *file, struct stat *st);
/* What is beyond goes, what is added is hole.  The first one takes hold of it: -OLD_CHANGED where
 * somebody has written to it since old_file_stat(), and nothing was done. */
#define OLD_CHANGED EUCLEAN
int old_file_resize(struct old_file *file, off_t size);
/* Of a file, however it was opened: how many bytes, 0 at its end; or -errno. */
ssize_t old_file_read(struct old_file *file, void *data, size_t len, off_t at);
int old_file_write(struct old_file *file, const void *data, size_t len, off_t at);
/* What was written is durable. */
int old_file_sync(struct old_file *file);
/* As attrs_give(). */
int old_file_give(struct old_file *file, const struct attrs *attrs,
		  const struct volume_config *config, attrs_lost_fn lost, void *arg);
/* Times only. */
int old_file_give_times(struct old_file *file, const struct attrs *attrs);

/* "dir/name"; g_free. */
char *old_path(const char *dir, const char *name);

#endif
