/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/prior.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/base/mtime.h"
#include "lib/base/project.h"
#include "retriever/copies/aside.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/objects/links.h"

#define SETTINGS "prior.conf"
#define GROUP	 "prior"
#define FEW	 100 /* names that may always go */

/* How many names may be set aside: for a copy that another tool made the number of names is not
 * known. */
static gint64 names_max(const struct retriever *retriever)
{
	gint64 found = COUNT_GET(retriever, files_found) + COUNT_GET(retriever, directories_found);
	gint64 total = retriever->prior ? MAX(retriever->prior->names, found) : found;

	return MAX(FEW, total / 10);
}

int prior_check(struct retriever *retriever, gint64 n)
{
	if (n && !g_atomic_int_get(&retriever->accepted) &&
	    COUNT_GET(retriever, left_over) + n > names_max(retriever))
		return -ENOTEMPTY;
	COUNT_ADD(retriever, left_over, n);
	return 0;
}

void prior_uncount(struct retriever *retriever, gint64 n)
{
	COUNT_ADD(retriever, left_over, -MAX(n, 0));
}

gint64 prior_names(struct retriever *retriever, int dir_fd, const char *name)
{
	return own_count(dir_fd, name,
			 g_atomic_int_get(&retriever->accepted) ? G_MAXINT64
								: names_max(retriever) + 1);
}

int prior_open(int private_fd, struct prior **out)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/" SETTINGS, private_fd);
	int fd = openat(private_fd, PRIOR_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct prior *prior;

	*out = NULL;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	prior = g_new0(struct prior, 1);
	prior->fd = fd;
	for (size_t i = 0; i < PRIOR_LOCKS; i++)
		g_mutex_init(&prior->locks[i]);
	if (g_key_file_load_from_file(f, path, G_KEY_FILE_NONE, NULL)) {
		prior->adopted = g_key_file_get_boolean(f, GROUP, "adopted", NULL);
		prior->content = g_key_file_get_boolean(f, GROUP, "content", NULL);
		prior->keep_extra = g_key_file_get_boolean(f, GROUP, "keep-extra", NULL);
		prior->names = g_key_file_get_int64(f, GROUP, "names", NULL);
	}
	*out = prior;
	return 0;
}

int prior_save(int private_fd, const struct prior *prior)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_autofree char *text = NULL;
	gsize len;
	int ret;

	g_key_file_set_boolean(f, GROUP, "adopted", prior->adopted);
	g_key_file_set_boolean(f, GROUP, "content", prior->content);
	g_key_file_set_boolean(f, GROUP, "keep-extra", prior->keep_extra);
	g_key_file_set_int64(f, GROUP, "names", prior->names);
	text = g_key_file_to_data(f, &len, NULL);
	ret = own_save(private_fd, SETTINGS, text, len);
	return !ret && fsync(private_fd) < 0 ? -errno : ret;
}

void prior_free(struct prior *prior)
{
	if (!prior)
		return;
	if (prior->fd >= 0)
		close(prior->fd);
	for (size_t i = 0; i < PRIOR_LOCKS; i++)
		g_mutex_clear(&prior->locks[i]);
	g_free(prior);
}

GMutex *prior_lock(struct prior *prior, const char *name)
{
	return &prior->locks[g_str_hash(name) % PRIOR_LOCKS];
}

int prior_directory(const struct prior *prior, const char *path)
{
	struct stat top, st;
	int fd;

	if (!path)
		return -1;
	fd = migrate_open_below(prior->fd, path, O_RDONLY | O_DIRECTORY,
				RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	/* nothing can be moved out of another subvolume of a btrfs */
	if (fd >= 0 &&
	    (fstat(fd, &st) < 0 || fstat(prior->fd, &top) < 0 || st.st_dev != top.st_dev)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A file with another number of names than it had there would be one file for two. */
static bool may_be_shared(struct retriever *retriever, const struct source_attr *attr,
			  const struct stat *st, int found)
{
	if (S_ISDIR(st->st_mode) || st->st_nlink == 1)
		return true;
	if (attr->nlink == 1)
		return false;
	return links_claim(retriever, st->st_ino, attr, found != COPY_SAME);
}

static bool is_target(int fd, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(fd, name, text, sizeof text);

	return len >= 0 && target && strlen(target) == (size_t)len && !memcmp(text, target, len);
}

int prior_compare(struct retriever *retriever, int prior_fd, const struct source_entry *entry,
		  const char *target, int *fd)
{
	const struct prior *prior = retriever->prior;
	struct stat st;
	int found;

	if (fd)
		*fd = -1;
	if (S_ISDIR(entry->attr.mode))
		return COPY_OTHER;
	found = copy_mark_compare(prior_fd, entry->name, &entry->attr, prior->adopted, &st, fd);
	/* a stub's attributes are those of its making */
	if (found == COPY_UNFINISHED && entry->attr.no_ctime)
		return COPY_OTHER;
	if (found < COPY_ALIKE)
		return found;
	if (found == COPY_ALIKE && S_ISLNK(entry->attr.mode) &&
	    !is_target(prior_fd, entry->name, target))
		return COPY_OTHER;
	return may_be_shared(retriever, &entry->attr, &st, found) ? found : COPY_OTHER;
}

int prior_take(int prior_fd, const char *name, int fd, int dir_fd, const char *as)
{
	int ret = fd >= 0 ? copy_mark_remove(fd) : copy_mark_remove_name(prior_fd, name);

	return ret ? ret : project_rename(prior_fd, name, dir_fd, as, RENAME_NOREPLACE);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static int put_prior_directory(struct retriever *retriever, int prior_fd, const char *name,
			       const char *path)
{
	gint64 n = prior_names(retriever, prior_fd, name);
	int ret = n < 0 ? (int)n : prior_check(retriever, n);

	if (ret)
		return ret;
	ret = aside_put(retriever, prior_fd, name, path, name);
	if (ret)
		prior_uncount(retriever, n);
	return ret;
}

int prior_settle(struct retriever *retriever, int prior_fd, const char *path,
		 const struct source_entry *entry, int dir_fd, const char *as)
{
	const struct source_attr *attr = &entry->attr;
	struct stat was, is;
	bool older, here;

	if (fstatat(prior_fd, entry->name, &was, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(was.st_mode))
		return S_ISDIR(attr->mode)
			       ? 0
			       : put_prior_directory(retriever, prior_fd, entry->name, path);
	here = fstatat(dir_fd, as, &is, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&was, &is);
	older = (was.st_mode & S_IFMT) == (attr->mode & S_IFMT) &&
		(!S_ISREG(was.st_mode) || !was.st_size || migrate_ns(was.st_mtim) <= attr->mtime ||
		 mtime_is_nearest(was.st_mtim, attr->mtime));
	if (!here && !older)
		return aside_put(retriever, prior_fd, entry->name, path, entry->name);
	return unlinkat(prior_fd, entry->name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- what is left ---- */

/* GOES: another name of what is here.  COVERED: a client has made something of that name. */
enum left { LEFT_WAITS, LEFT_GOES, LEFT_OVER, LEFT_COVERED };

/* A directory waits for its own comparison. */
static enum left look_at(int prior_fd, const char *name, int dir_fd)
{
	struct stat was, is;

	if (fstatat(prior_fd, name, &was, AT_SYMLINK_NOFOLLOW) < 0)
		return LEFT_WAITS;
	if (fstatat(dir_fd, name, &is, AT_SYMLINK_NOFOLLOW) < 0)
		return LEFT_OVER;
	if (S_ISDIR(was.st_mode) && S_ISDIR(is.st_mode))
		return LEFT_WAITS;
	return is_same(&was, &is) ? LEFT_GOES : LEFT_COVERED;
}

static int deal_with(struct retriever *retriever, int prior_fd, const char *name, int dir_fd,
		     const char *path)
{
	switch (look_at(prior_fd, name, dir_fd)) {
	case LEFT_WAITS:
		return 0;
	case LEFT_GOES:
		return unlinkat(prior_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	case LEFT_OVER:
		if (retriever->prior->keep_extra &&
		    project_rename(prior_fd, name, dir_fd, name, RENAME_NOREPLACE) == 0)
			return 0;
		break;
	default:
		break;
	}
	return aside_put_left(retriever, dir_fd, prior_fd, name, path);
}

static bool is_copied_name(const struct dirent *e, const char *path)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
	       (*path || strcmp(e->d_name, MIGRATE_PRIVATE_DIR) != 0);
}

/* Or -errno. */
static gint64 count_left_over(struct retriever *retriever, DIR *dir, int dir_fd, const char *path)
{
	struct dirent *e;
	gint64 n = 0;

	while ((e = readdir(dir))) {
		gint64 names = 0;

		if (is_copied_name(e, path) && look_at(dirfd(dir), e->d_name, dir_fd) == LEFT_OVER)
			names = prior_names(retriever, dirfd(dir), e->d_name);
		if (names < 0)
			return names;
		n += names;
	}
	rewinddir(dir);
	return n;
}

static int sweep(struct retriever *retriever, DIR *dir, int dir_fd, const char *path)
{
	gint64 n = retriever->prior->keep_extra ? 0 : count_left_over(retriever, dir, dir_fd, path);
	int ret = n < 0 ? (int)n : prior_check(retriever, n);
	struct dirent *e;

	if (ret)
		return ret;
	while (!ret && (errno = 0, e = readdir(dir)))
		if (is_copied_name(e, path))
			ret = deal_with(retriever, dirfd(dir), e->d_name, dir_fd, path);
	if (!ret)
		ret = -errno;
	if (ret && n) {
		rewinddir(dir);
		prior_uncount(retriever, count_left_over(retriever, dir, dir_fd, path));
	}
	return ret;
}

/* Upwards as well: those above may have waited for this one only. */
static void remove_empty(const struct prior *prior, const char *path)
{
	g_autofree char *at = g_strdup(path);

	while (*at && unlinkat(prior->fd, at, AT_REMOVEDIR) == 0) {
		char *slash = strrchr(at, '/');

		*(slash ? slash : at) = '\0';
	}
}

int prior_sweep(struct retriever *retriever, int dir_fd, const char *path)
{
	int fd = prior_directory(retriever->prior, path);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int ret;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0; /* nothing of it was copied */
	}
	ret = sweep(retriever, dir, dir_fd, path);
	closedir(dir);
	if (!ret)
		remove_empty(retriever->prior, path);
	return ret;
}
