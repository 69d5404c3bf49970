/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The product's own small files and directories, in .migrate/. */
#ifndef LIB_BASE_FILETREE_H
#define LIB_BASE_FILETREE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Removes what is in a directory in .migrate/, one level deep.  0 or -errno: something is left. */
int own_clear(int dir_fd);

/* One object of a tree. */
struct own_entry {
	int dir_fd;
	const char *name; /* in dir_fd */
	const char *path; /* below the tree's top, which has "" */
	const struct stat *st;
	bool leaf;    /* there is nothing below it, or another file system */
	bool outside; /* a directory of another file system's, or of another subvolume's */
	int error;    /* of a directory: -errno, not all that is in it could be looked at; 0 */
};

/* 0: go on; else own_walk() returns it. */
typedef int (*own_fn)(void *arg, const struct own_entry *entry);
/*
 * Calls fn for all of the tree, a directory after what is in it.  Neither a symbolic link nor a
 * mount is followed.  fn may remove the object.  However deep it is, a few directories are open at
 * once.  What cannot be looked at does not end it.  0, also where there is no such name, what fn
 * returned, or -errno of the first that could not be looked at.
 */
int own_walk(int dir_fd, const char *name, own_fn fn, void *arg);
/* The same, but a subvolume or snapshot in it is not entered either (btrfs). */
int own_walk_volume(int dir_fd, const char *name, own_fn fn, void *arg);
/* How many names are in the tree, with its own; no more than max.  Or -errno. */
gint64 own_count(int dir_fd, const char *name, gint64 max);
/* Removes all of it, as far as it can.  0 or -errno: something is left. */
int own_remove(int dir_fd, const char *name);

/* Replaces a small file in .migrate/ as a whole.  Blocks for the disk.  0 or -errno. */
int own_save(int dir_fd, const char *name, const char *text, size_t len);

#endif
