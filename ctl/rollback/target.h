/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The old server's tree, with write rights for the way back: as it is mounted here
 * (target_mount.c), or by SMB (target_smb.c).  The only code of the project that writes there
 * (I10).
 *
 * A path is below the tree's root, "" the root itself, without "/" at its ends.  It is resolved
 * anew each time, below the root, without symbolic links and other file systems: what somebody puts
 * into a path's place there leads nowhere else.  What is under way stands in TARGET_STAGE, a
 * directory in the root: objects that are being written, and those that wait for their new names.
 *
 * Everything blocks for the old server.  0 or -errno unless it is said otherwise.  One thread, but
 * for target_takes_several().
 */
#ifndef CTL_ROLLBACK_TARGET_H
#define CTL_ROLLBACK_TARGET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/migrate.h"
#include "ctl/rollback/attrs.h"

#define TARGET_STAGE MIGRATE_ROLLBACK_DIR

struct target;
struct volume_config;

/* NULL with error set: one line. */
struct target *target_open(const char *path, GError **error);
/* url: smb://; with what config says of passwords, which is a log-on of the way back's own. */
struct target *target_open_smb(const char *url, const struct volume_config *config, GError **error);
void target_close(struct target *target);
/* Makes TARGET_STAGE, which shows that the tree can be written, and is ours alone. *skew: ns by
 * which the old server's clock is ahead of this one's, or less, by what a request takes.  FALSE
 * with error set: one line.
 */
bool target_begin(struct target *target, int64_t *skew, GError **error);
/* A step of one object failed (-errno): writes a file there, so that it is durable, and removes it.
 * 0: that was this object's alone; -errno: nothing can be done there. */
int target_try(struct target *target, int failed);
/* TARGET_STAGE was there before: a run was killed, and the root's times may be its doing. */
bool target_was_left(const struct target *target);
/* The times that the root had before.  Its ctime (ns) moves with TARGET_STAGE. */
struct timespec target_root_mtime(const struct target *target);
int64_t target_root_ctime(const struct target *target);
/* Removes TARGET_STAGE if nothing is in it. */
void target_end(struct target *target);

/* Whether its objects have descriptors instead of owners, modes and ACLs: st_mode has the type
 * alone. */
bool target_has_descriptors(const struct target *target);
/* Several threads may make objects in TARGET_STAGE, remove files there, have one open each, and
 * sync, while one does whatever it wants to files. */
bool target_takes_several(const struct target *target);
/* Whether it would be TARGET_STAGE there, or in it. */
bool target_is_stage(const struct target *target, const char *path);
/* Why an object of that type cannot be there by that path, a sentence without the object; NULL: it
 * can. */
const char *target_objection(const struct target *target, const char *path, mode_t mode);

/* As the old server has it now, not as it is cached here. */
int target_stat(struct target *target, const char *path, struct stat *st);
/* The text of a symbolic link; g_free.  NULL with *ret = -errno. */
char *target_read_link(struct target *target, const char *path, int *ret);
/* As attrs_read_xattr(), of what may have an ACL.  NULL: it has none, or *ret = -errno. */
GBytes *target_read_xattr(struct target *target, const char *path, const char *name, int *ret);
/* The file has what no copy of it that is made here, with these, would have. */
bool target_holds_more(struct target *target, const char *path, const struct attrs *attrs);

struct target_file;
struct target_name {
	uint64_t fileid;
	char name[]; /* NUL-terminated */
};
/* The names in a directory but for TARGET_STAGE, of struct target_name by name, in upper and lower
 * case alike where that is the same to the old server; NULL with *ret = -errno. */
GHashTable *target_list(struct target *target, const char *path, int *ret);

/* For target_ops.h: one more. */
void target_add_name(GHashTable *names, const char *name, uint64_t fileid);

int target_mkdir(struct target *target, const char *path);
/* An empty file.  *file: target_file_close() it; NULL: it is closed. */
int target_create(struct target *target, const char *path, struct target_file **file);
int target_symlink(struct target *target, const char *text, const char *path);
int target_mknod(struct target *target, const char *path, mode_t mode, dev_t device);
/* -EOPNOTSUPP: the old server has no further names. */
int target_link(struct target *target, const char *from, const char *to);
/* directory: it is one. */
int target_rename(struct target *target, const char *from, const char *to, bool directory);
/* -EEXIST: something is there.  (A directory that is moved by NFS takes the place of an empty one.)
 */
int target_rename_new(struct target *target, const char *from, const char *to, bool directory);
/*
 * `from`, in TARGET_STAGE, comes to `to`, and what stands there, which is no directory, to `out`,
 * which is in TARGET_STAGE, too: nobody finds it by a path any more.  In one step where the file
 * system can exchange names; else `to` is never without a file on a mount, and over SMB it is for
 * one round trip, while no other has it open to write.  Where there are neither links nor exchanges
 * nothing comes to `out`.
 */
int target_replace(struct target *target, const char *from, const char *to, const char *out);
#define TARGET_IN_USE "somebody has it open there, or the server is busy; the next run tries again"
/* Whether another has the file open to write, where that can be known: on a local file system. */
bool target_is_open(struct target *target, const char *path);
int target_remove(struct target *target, const char *path, bool directory);
/* All that was written so far is durable, but for names in those of target_unsynced(). */
int target_sync(struct target *target);
/* A set of paths of directories that somebody has to himself there, so that the last sync did not
 * make them durable; NULL: none. */
GHashTable *target_unsynced(struct target *target);
/* An earlier run may have changed names in the directory: the next sync makes it durable as well.
 */
void target_sync_names(struct target *target, const char *dir);

/* ---- giving to one object -------------------------------------------------------------------- */

/* data: a file whose data are to be written, too; on a local file system nobody has it open to
 * write then (-EAGAIN), and if nobody reads it either, opens wait meanwhile.  target_file_close()
 * it.
 */
int target_file_open(struct target *target, const char *path, bool data, struct target_file **file);
void target_file_close(struct target_file *file);
/* As target_stat(), of what is open, where that is by a descriptor.  -EBUSY: somebody may have
 * written to it meanwhile. */
int target_file_stat(struct target_file *file, struct stat *st);
/* What is beyond goes, what is added is hole.  The first one takes hold of it: -TARGET_CHANGED
 * where somebody has written to it since target_file_stat(), and nothing was done. */
#define TARGET_CHANGED EUCLEAN
int target_file_resize(struct target_file *file, off_t size);
/* Of a file, however it was opened: how many bytes, 0 at its end; or -errno. */
ssize_t target_file_read(struct target_file *file, void *data, size_t len, off_t at);
int target_file_write(struct target_file *file, const void *data, size_t len, off_t at);
/* What was written is durable. */
int target_file_sync(struct target_file *file);
/* As attrs_give(). */
int target_file_give(struct target_file *file, const struct attrs *attrs,
		     const struct volume_config *config, attrs_lost_fn lost, void *arg);
/* Times only. */
int target_file_give_times(struct target_file *file, const struct attrs *attrs);

/* "dir/name"; g_free. */
char *target_path(const char *dir, const char *name);

#endif
