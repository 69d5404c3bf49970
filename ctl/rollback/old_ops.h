/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an old server is reached by: old.h says what each of these does, beside what is said here.
 */
#ifndef CTL_ROLLBACK_OLD_OPS_H
#define CTL_ROLLBACK_OLD_OPS_H

#include "ctl/rollback/attrs.h"

struct old;
struct old_file;
struct volume_config;

struct old_ops {
	bool descriptors;
	bool folds;		  /* names in upper and lower case are the same */
	bool several;		  /* old_takes_several() */
	const char *cannot_write; /* what to do then */
	void (*close)(struct old *old);
	/* OLD_STAGE is ours alone, and so is what will be made in it; where the server cannot keep
	 * that, it says so.  -EPERM: it is another's. */
	int (*protect)(struct old *old);
	/* these seven may be NULL */
	GHashTable *(*unsynced)(struct old *old);
	void (*sync_names)(struct old *old, const char *dir);
	/* Of an object that was just made: -EPERM if we are not who may give owners there. */
	int (*owns)(struct old *old, const char *path);
	const char *(*objection)(const char *path, mode_t mode);
	bool (*holds_more)(struct old *old, const char *path, const struct attrs *attrs);
	bool (*is_open)(struct old *old, const char *path);
	GBytes *(*read_xattr)(struct old *old, const char *path, const char *name, int *ret);
	int (*stat)(struct old *old, const char *path, struct stat *st);
	char *(*read_link)(struct old *old, const char *path, int *ret);
	int (*list)(struct old *old, const char *path, GHashTable *names);
	int (*mkdir)(struct old *old, const char *path);
	int (*create)(struct old *old, const char *path, struct old_file **file);
	int (*symlink)(struct old *old, const char *target, const char *path);
	int (*mknod)(struct old *old, const char *path, mode_t mode, dev_t device);
	int (*link)(struct old *old, const char *from, const char *to);
	int (*rename)(struct old *old, const char *from, const char *to, bool directory);
	int (*rename_new)(struct old *old, const char *from, const char *to, bool directory);
	int (*replace)(struct old *old, const char *from, const char *to, const char *out);
	int (*remove)(struct old *old, const char *path, bool directory);
	int (*sync)(struct old *old);
	int (*open)(struct old *old, const char *path, bool data, struct old_file **file);
	void (*close_file)(struct old_file *file);
	int (*stat_file)(struct old_file *file, struct stat *st);
	int (*resize)(struct old_file *file, off_t size);
	ssize_t (*read)(struct old_file *file, void *data, size_t len, off_t at);
	int (*write)(struct old_file *file, const void *data, size_t len, off_t at);
	int (*sync_file)(struct old_file *file);
	int (*give)(struct old_file *file, const struct attrs *attrs,
		    const struct volume_config *config, attrs_lost_fn lost, void *arg);
	int (*give_times)(struct old_file *file, const struct attrs *attrs);
};

/* Both are the first member of an implementation's own. */
struct old {
	const struct old_ops *ops;
	char *where;	       /* for messages; freed by ops->close() */
	struct timespec mtime; /* of the root, before old_begin() */
	int64_t ctime;	       /* likewise, ns */
	bool left;	       /* OLD_STAGE was there */
};

struct old_file {
	struct old *old;
};

#endif
