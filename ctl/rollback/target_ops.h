/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How an old server's tree is reached: a table of functions for a mount, and one for SMB.  target.h
 * says what each of these functions does, beside what is said here. */
#ifndef CTL_ROLLBACK_TARGET_OPS_H
#define CTL_ROLLBACK_TARGET_OPS_H

#include "ctl/rollback/attrs.h"

struct target;
struct target_file;
struct volume_config;

struct target_ops {
	bool descriptors;
	bool folds;		  /* names in upper and lower case are the same */
	bool several;		  /* target_takes_several() */
	const char *cannot_write; /* what to do then */
	void (*close)(struct target *target);
	/* Closes TARGET_STAGE, and what will be made in it, to other users; if the server cannot
	 * keep that, logs it.  -EPERM: it is another user's. */
	int (*protect)(struct target *target);
	/* these seven may be NULL */
	GHashTable *(*unsynced)(struct target *target);
	void (*sync_names)(struct target *target, const char *dir);
	/* For an object that was just made: -EPERM if the user that the way back writes as may not
	 * set owners there. */
	int (*owns)(struct target *target, const char *path);
	const char *(*objection)(const char *path, mode_t mode);
	bool (*holds_more)(struct target *target, const char *path, const struct attrs *attrs);
	bool (*is_open)(struct target *target, const char *path);
	GBytes *(*read_xattr)(struct target *target, const char *path, const char *name, int *ret);
	int (*stat)(struct target *target, const char *path, struct stat *st);
	char *(*read_link)(struct target *target, const char *path, int *ret);
	int (*list)(struct target *target, const char *path, GHashTable *names);
	int (*mkdir)(struct target *target, const char *path);
	int (*create)(struct target *target, const char *path, struct target_file **file);
	int (*symlink)(struct target *target, const char *text, const char *path);
	int (*mknod)(struct target *target, const char *path, mode_t mode, dev_t device);
	int (*link)(struct target *target, const char *from, const char *to);
	int (*rename)(struct target *target, const char *from, const char *to, bool directory);
	int (*rename_new)(struct target *target, const char *from, const char *to, bool directory);
	int (*replace)(struct target *target, const char *from, const char *to, const char *out);
	int (*remove)(struct target *target, const char *path, bool directory);
	int (*sync)(struct target *target);
	int (*open)(struct target *target, const char *path, bool data, struct target_file **file);
	void (*close_file)(struct target_file *file);
	int (*stat_file)(struct target_file *file, struct stat *st);
	int (*resize)(struct target_file *file, off_t size);
	ssize_t (*read)(struct target_file *file, void *data, size_t len, off_t at);
	int (*write)(struct target_file *file, const void *data, size_t len, off_t at);
	int (*sync_file)(struct target_file *file);
	int (*give)(struct target_file *file, const struct attrs *attrs,
		    const struct volume_config *config, attrs_lost_fn lost, void *arg);
	int (*give_times)(struct target_file *file, const struct attrs *attrs);
};

/* Both are the first member of an implementation's own. */
struct target {
	const struct target_ops *ops;
	char *where;	       /* for messages; freed by ops->close() */
	struct timespec mtime; /* of the root, before target_begin() */
	int64_t ctime;	       /* ns, of the root, before target_begin() */
	bool left;	       /* TARGET_STAGE was there */
};

struct target_file {
	struct target *target;
};

#endif
