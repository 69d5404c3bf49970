/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The old server's tree, with write rights for the way back: as it is mounted here
 * (target_mount.c), or by SMB (target_smb.c).  This is the only code of the project that writes
 * there (I10).
 *
 * A path is relative to the tree's root, without "/" at its ends; "" is the root itself.  It is
 * resolved anew each time, below the root, and follows neither symbolic links nor mounts: whatever
 * somebody puts into its place there, it leads nowhere else.  TARGET_STAGE, a directory in the
 * root, has what is under way: objects that are being written, and objects that wait for their new
 * names.
 *
 * Everything blocks for the old server.  0 or -errno unless it is said otherwise.  One thread,
 * except as target_takes_several() says.
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
/* url: smb://.  config's rollback-password-file or rollback-ccache is used: a log-on of the way
 * back's own. */
struct target *target_open_smb(const char *url, const struct volume_config *config, GError **error);
void target_close(struct target *target);
/* Makes TARGET_STAGE, which is closed to other users, and so shows that the tree can be written.
 * *skew: ns by which the old server's clock is ahead of this one's; it may be too low by what a
 * request takes.  FALSE with error set: one line. */
bool target_begin(struct target *target, int64_t *skew, GError **error);
/* Call it when a step of one object failed (-errno): writes a file there, durably, and removes it.
 * 0: the failure was that object's alone; -errno: nothing can be written there. */
int target_try(struct target *target, int failed);
/* Whether TARGET_STAGE was there before target_begin(): then a run was killed, and the root's times
 * may be its doing. */
bool target_was_left(const struct target *target);
/* The root's times before target_begin().  TARGET_STAGE moves its ctime (ns). */
struct timespec target_root_mtime(const struct target *target);
int64_t target_root_ctime(const struct target *target);
/* Removes TARGET_STAGE if nothing is in it. */
void target_end(struct target *target);

/* Whether its objects have security descriptors instead of owners, modes and ACLs: then st_mode has
 * the type alone. */
bool target_has_descriptors(const struct target *target);
/* Whether several threads may make objects in TARGET_STAGE, remove files there, have one file open
 * each, and sync, while one thread does whatever it wants to files. */
bool target_takes_several(const struct target *target);
/* Whether path would be TARGET_STAGE there, or be in it. */
bool target_is_stage(const struct target *target, const char *path);
/* Why an object of that type cannot have that path there, as a sentence that does not name the
 * object; NULL: it can. */
const char *target_objection(const struct target *target, const char *path, mode_t mode);

/* As the old server has it now, not as it is cached here. */
int target_stat(struct target *target, const char *path, struct stat *st);
/* The text of a symbolic link; g_free.  NULL with *ret = -errno. */
char *target_read_link(struct target *target, const char *path, int *ret);
/* As attrs_read_xattr(), for an object that may have an ACL.  NULL: it has none, or *ret =
 * -errno. */
GBytes *target_read_xattr(struct target *target, const char *path, const char *name, int *ret);
/* Whether the file has something that a copy of it, made with these attrs, would lack. */
bool target_holds_more(struct target *target, const char *path, const struct attrs *attrs);

struct target_file;
struct target_name {
	uint64_t fileid;
	char name[]; /* NUL-terminated */
};
/* The names in a directory, without TARGET_STAGE: struct target_name by name, found whatever its
 * case if case does not matter to the old server.  NULL with *ret = -errno. */
GHashTable *target_list(struct target *target, const char *path, int *ret);

/* Adds a name; for those who implement target_ops.h. */
void target_add_name(GHashTable *names, const char *name, uint64_t fileid);

int target_mkdir(struct target *target, const char *path);
/* An empty file.  *file: target_file_close() it; NULL: it is closed. */
int target_create(struct target *target, const char *path, struct target_file **file);
int target_symlink(struct target *target, const char *text, const char *path);
int target_mknod(struct target *target, const char *path, mode_t mode, dev_t device);
/* -EOPNOTSUPP: the old server has no further names. */
int target_link(struct target *target, const char *from, const char *to);
/* directory: whether it is one. */
int target_rename(struct target *target, const char *from, const char *to, bool directory);
/* -EEXIST: something is there.  (A directory that is moved by NFS takes the place of an empty one.)
 */
int target_rename_new(struct target *target, const char *from, const char *to, bool directory);
/*
 * Renames `from`, which is in TARGET_STAGE, to `to`, and what stands at `to`, which is no
 * directory, to `out`, which is in TARGET_STAGE, too: nobody finds it by a path any more.  This is
 * one step if the file system can exchange names.  Else, on a mount, `to` is never without a file;
 * over SMB it is without one for one round trip, while nobody else has it open to write.  Where
 * there are neither links nor exchanges, nothing comes to `out`.
 */
int target_replace(struct target *target, const char *from, const char *to, const char *out);
#define TARGET_IN_USE "somebody has it open there, or the server is busy; the next run tries again"
/* Whether another has the file open to write, where that can be known: on a local file system. */
bool target_is_open(struct target *target, const char *path);
int target_remove(struct target *target, const char *path, bool directory);
/* Makes durable all that was written so far, except names in the directories of
 * target_unsynced(). */
int target_sync(struct target *target);
/* A set of paths of directories that the last sync did not make durable, because somebody else has
 * them open exclusively; NULL: none. */
GHashTable *target_unsynced(struct target *target);
/* An earlier run may have changed names in the directory: the next sync makes it durable as well.
 */
void target_sync_names(struct target *target, const char *dir);

/* ---- giving to one object -------------------------------------------------------------------- */

/* data: the file's data are to be written, too.  On a local file system nobody else has it open to
 * write then (else -EAGAIN), and if nobody reads it either, others who open it wait meanwhile.
 * target_file_close() it. */
int target_file_open(struct target *target, const char *path, bool data, struct target_file **file);
void target_file_close(struct target_file *file);
/* As target_stat(), of the object that is open, if it is open by a descriptor.  -EBUSY: somebody
 * may have written to it meanwhile. */
int target_file_stat(struct target_file *file, struct stat *st);
/* Bytes beyond size go; a range that is added is a hole.  The first call takes hold of the file:
 * -TARGET_CHANGED if somebody has written to it since target_file_stat(); then nothing was done. */
#define TARGET_CHANGED EUCLEAN
int target_file_resize(struct target_file *file, off_t size);
/* Of a file, opened for its data or not: how many bytes were read, 0 at its end; or -errno. */
ssize_t target_file_read(struct target_file *file, void *data, size_t len, off_t at);
int target_file_write(struct target_file *file, const void *data, size_t len, off_t at);
/* Makes durable what was written. */
int target_file_sync(struct target_file *file);
/* As attrs_give(). */
int target_file_give(struct target_file *file, const struct attrs *attrs,
		     const struct volume_config *config, attrs_lost_fn lost, void *arg);
/* Gives the times alone. */
int target_file_give_times(struct target_file *file, const struct attrs *attrs);

/* "dir/name"; g_free. */
char *target_path(const char *dir, const char *name);

#endif
