/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file system of a test's own, mounted in its own namespace: `place`/volume is the root of a
 * volume, `place`/other another tree. */
#ifndef TESTS_JOURNAL_TREE_H
#define TESTS_JOURNAL_TREE_H

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/record.h"
#include "journal/volume.h"
#include "tests/journal/place.h"
#include "tests/retriever/core_tsan.h"

static struct volume *volume;
static char *store_dir;

static inline char *path_of(const char *name)
{
	return g_build_filename(place, name, NULL);
}

static inline void make_dir(const char *name)
{
	g_autofree char *path = path_of(name);

	ck_assert_int_eq(mkdir(path, 0755), 0);
}

static inline void put_file(const char *name, const char *text)
{
	g_autofree char *path = path_of(name);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static inline void rename_file(const char *from, const char *to)
{
	g_autofree char *a = path_of(from), *b = path_of(to);

	ck_assert_int_eq(rename(a, b), 0);
}

static inline void link_file(const char *from, const char *to)
{
	g_autofree char *a = path_of(from), *b = path_of(to);

	ck_assert_int_eq(link(a, b), 0);
}

static inline void remove_file(const char *name)
{
	g_autofree char *path = path_of(name);

	ck_assert_int_eq(remove(path), 0);
}

static inline struct migrate_binding binding_of(const char *name)
{
	g_autofree char *path = path_of(name);
	struct migrate_binding binding;

	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &binding), 0);
	return binding;
}

static inline void tree_make(void)
{
	g_autofree char *root = NULL;
	GError *error = NULL;

	place_make();
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", place, "tmpfs", 0, "size=64m"), 0);
	store_dir = g_dir_make_tmp("journal-XXXXXX", NULL);
	make_dir("volume");
	make_dir("other");
	root = path_of("volume");
	volume = volume_open(root, &error);
	ck_assert_msg(volume != NULL, "%s", error ? error->message : "");
}

static inline void tree_remove(void)
{
	g_autofree char *mounted = place;

	volume_close(volume);
	ck_assert_int_eq(umount2(mounted, MNT_DETACH), 0);
	rmdir(mounted);
	place = store_dir;
	place_remove();
}

#endif
