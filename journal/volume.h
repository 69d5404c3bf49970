/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume's tree as it is now, by handles: what is in it, and under which name.  One thread. */
#ifndef JOURNAL_VOLUME_H
#define JOURNAL_VOLUME_H

#include "journal/store/store.h"

struct volume;

enum volume_part {
	VOLUME_WITHIN,
	VOLUME_OUTSIDE, /* of another tree of the same file system */
	VOLUME_PRIVATE, /* .migrate/, or below it */
	VOLUME_LINKS,	/* .migrate/links: objects of the volume, whose names are to come */
};

/* NULL with *error. */
struct volume *volume_open(const char *root, GError **error);
void volume_close(struct volume *volume);
int volume_fd(const struct volume *volume); /* of the root; the volume's */
/* What tells it from another volume: its root, and its file system's id (fs_id.h). */
const struct migrate_binding *volume_root(const struct volume *volume);
uint64_t volume_fsid(const struct volume *volume);

/* Where a directory is.  What cannot be told any more, because it was removed, counts as within. */
enum volume_part volume_part(struct volume *volume, const struct migrate_binding *dir);
/* .migrate/links, if there is one. */
bool volume_links(const struct volume *volume, struct migrate_binding *links);
/* One that was made just now, so that it is known when it is removed. */
void volume_note(struct volume *volume, const struct migrate_binding *dir, enum volume_part part);
/* A directory was moved: what is below it may be somewhere else now. */
void volume_forget(struct volume *volume);

/* 1: the name is the object's.  0: it is not, or there is no such directory.  -errno: that cannot
 * be told. */
int volume_holds(const struct volume *volume, const struct migrate_binding *object,
		 const struct migrate_binding *dir, const char *name);
/* false: it has no name any more.  *st is filled if so; may be NULL. */
bool volume_exists(const struct volume *volume, const struct migrate_binding *object,
		   struct stat *st);
/* Whether it is no object of another tree, as far as its path is known. */
bool volume_has(const struct volume *volume, const struct migrate_binding *object);
/* As the kernel calls it, or NULL.  g_free. */
char *volume_path(const struct volume *volume, const struct migrate_binding *object);

#endif
