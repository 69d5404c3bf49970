/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/filetree.h"
#include "lib/base/flags.h"
#include "lib/base/project.h"
#include "lib/base/text.h"
#include "retriever/copies/apart.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/listing_entries.h"
#include "retriever/objects/errors.h"

#define NAMES_MAX 1000	     /* of one path */
#define COMING	  "restored" /* on its way out of aside/ */

static int open_directory(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int move_entry(int from_fd, const char *name, int to_fd, const char *as, char **moved);

/* What is set aside under the name of a directory on the way gives way. */
static int make_directory(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
		int ret = move_entry(fd, name, fd, name, NULL);

		if (ret)
			return ret;
	}
	return mkdirat(fd, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* The directory at path, step by step, which is made where that is wanted.  Takes fd. */
static int open_below(int fd, const char *path, bool make)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);

	for (char **name = names; *name && fd >= 0; name++) {
		int next;

		if (!**name)
			continue;
		next = make ? make_directory(fd, *name) : 0;
		if (!next)
			next = open_directory(fd, *name);
		if (make && next >= 0)
			project_stop(next);
		close(fd);
		fd = next;
	}
	return fd;
}

static int moved_as(char **moved, const char *as)
{
	if (moved)
		*moved = g_strdup(as);
	return 0;
}

/* Under another name where that is taken.  *moved: which; g_free; or NULL. */
static int move_entry(int from_fd, const char *name, int to_fd, const char *as, char **moved)
{
	if (renameat2(from_fd, name, to_fd, as, RENAME_NOREPLACE) == 0)
		return moved_as(moved, as);
	for (unsigned n = 1; errno == EEXIST && n <= NAMES_MAX; n++) {
		/* a name that is too long is cut, not in the middle of a character */
		g_autofree char *suffix = g_strdup_printf(".~%u~", n);
		size_t room = NAME_MAX - strlen(suffix), len = strlen(as);
		g_autofree char *other = NULL;

		while (len > room || (len && as[len] && ((guchar)as[len] & 0xc0) == 0x80))
			len--;
		other = g_strdup_printf("%.*s%s", (int)len, as, suffix);
		if (renameat2(from_fd, name, to_fd, other, RENAME_NOREPLACE) == 0)
			return moved_as(moved, other);
	}
	return -errno;
}

static int count_entry(void *arg, const struct own_entry *entry)
{
	struct retriever *retriever = arg;

	if (entry->leaf)
		COUNT_ADD(retriever, aside, 1);
	if (S_ISDIR(entry->st->st_mode) && retriever->copying)
		listing_entries_remove(retriever, entry->st->st_ino);
	if (S_ISREG(entry->st->st_mode))
		COUNT_ADD(retriever, aside_bytes, entry->st->st_blocks * 512);
	return 0;
}

static int look_for_links(void *arg, const struct own_entry *entry)
{
	*(bool *)arg |= !S_ISDIR(entry->st->st_mode) && entry->st->st_nlink > 1;
	return 0;
}

/* A file that was not fetched to its end is nobody's work, and could be restored as if it were
 * whole.  The record of one that has other names is theirs.  1: it is gone; 0, -errno. */
static int drop_unfinished(int dir_fd, const char *name, bool single)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct migrate_record rec;
	int ret = fd < 0 ? -errno : migrate_record_load(fd, &rec);
	bool adopted = ret == 1 && (rec.flags & MIGRATE_REC_ADOPTED);

	if (ret == 1)
		migrate_record_clear(&rec);
	if (adopted) /* all that another tool had copied is in it */
		ret = single ? migrate_record_drop(fd) : 0;
	else if (ret == 1 && unlinkat(dir_fd, name, 0) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	return ret == -EBADMSG ? 0 : ret;
}

int aside_put(struct retriever *retriever, int dir_fd, const char *name, const char *path,
	      const char *as)
{
	g_autofree char *moved = NULL;
	bool linked = false;
	struct stat st;
	int fd, ret = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode))
		ret = drop_unfinished(dir_fd, name, st.st_nlink == 1);
	if (ret)
		return MIN(ret, 0);
	if (mkdirat(retriever->private_fd, ASIDE_DIR, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open_directory(retriever->private_fd, ASIDE_DIR);
	if (fd >= 0)
		project_stop(fd);
	if (fd >= 0)
		fd = open_below(fd, path ? path : "", true);
	if (fd < 0)
		return fd;
	/* before: afterwards it may have another name */
	ret = own_walk(dir_fd, name, count_entry, retriever);
	if (!ret)
		ret = own_walk(dir_fd, name, look_for_links, &linked);
	if (!ret)
		ret = move_entry(dir_fd, name, fd, as, &moved);
	if (!ret && linked)
		apart_start(retriever, fd, moved);
	close(fd);
	if (ret)
		aside_count(retriever);
	return ret;
}

int aside_put_left(struct retriever *retriever, int dir_fd, int from_fd, const char *name,
		   const char *path)
{
	int ret = aside_put(retriever, from_fd, name, path, name);
	g_autofree char *dir = retriever_fd_path(from_fd);
	const char *word = flags_word(from_fd, name);
	g_autofree char *about = g_strconcat(dir, "/", name, word ? " is " : NULL, word, NULL);

	if (ret == -EBUSY || ret == -EPERM)
		errors_add_name(retriever->errors, dir_fd, name, ret,
				ret == -EBUSY ? QM_LEFT_MOUNTED : QM_LEFT_FORBIDDEN, about);
	return ret;
}

/* ---- walks ---- */

struct aside_listing {
	aside_fn fn;
	void *arg;
};

static int list_aside_entry(void *arg, const struct own_entry *entry)
{
	const struct aside_listing *listing = arg;

	return entry->leaf && *entry->path && !listing->fn(listing->arg, entry->path, entry->st);
}

int aside_walk(struct retriever *retriever, aside_fn fn, void *arg)
{
	struct aside_listing listing = {fn, arg};

	return MIN(own_walk(retriever->private_fd, ASIDE_DIR, list_aside_entry, &listing), 0);
}

static bool count_listed(void *arg, const char *path, const struct stat *st)
{
	struct own_entry entry = {.path = path, .st = st, .leaf = true};

	return count_entry(arg, &entry) == 0;
}

int aside_count(struct retriever *retriever)
{
	COUNT_SET(retriever, aside, 0);
	COUNT_SET(retriever, aside_bytes, 0);
	return aside_walk(retriever, count_listed, retriever);
}

int aside_discard(struct retriever *retriever)
{
	int ret = own_remove(retriever->private_fd, ASIDE_DIR), counted = aside_count(retriever);

	return ret ? ret : counted;
}

/* ---- back again ---- */

/* -ENODATA where something of it was not fetched to its end. */
static int check_entry(void *arg, const struct own_entry *entry)
{
	struct migrate_record rec;
	int fd, has;

	if (!S_ISREG(entry->st->st_mode))
		return 0;
	fd = openat(entry->dir_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	has = fd < 0 ? -errno : migrate_record_load(fd, &rec);
	if (has == 1) {
		has = rec.flags & MIGRATE_REC_ADOPTED ? migrate_record_drop(fd) : -ENODATA;
		migrate_record_clear(&rec);
	}
	if (fd >= 0)
		close(fd);
	return has == -EBADMSG ? -ENODATA : has;
}

/* Removes the attributes that an object of a copy has and an object of the tree must not have. */
static int clear_entry(void *arg, const struct own_entry *entry)
{
	int ret = copy_mark_remove_name(entry->dir_fd, entry->name), fd;

	if (ret || !S_ISDIR(entry->st->st_mode))
		return ret;
	fd = open_directory(entry->dir_fd, entry->name);
	if (fd < 0)
		return fd;
	if (fremovexattr(fd, XATTR_LISTED) < 0 && errno != ENODATA)
		ret = -errno;
	if (!ret && migrate_has_record(fd))
		ret = migrate_record_drop(fd);
	close(fd);
	return ret;
}

/* A name in a directory that is to be compared would be taken for one of the old server's. */
static int open_compared(struct retriever *retriever, const char *path)
{
	int fd = open_directory(retriever->root_fd, "."), ret;
	struct migrate_record rec;

	if (fd >= 0)
		fd = open_below(fd, path, false);
	if (fd < 0)
		return fd;
	ret = migrate_record_load(fd, &rec);
	if (ret == 1) {
		ret = rec.state == MIGRATE_UNFILLED ? -EBUSY : 0;
		migrate_record_clear(&rec);
	} else if (!ret && migrate_is_attaching(retriever->root_fd)) {
		ret = -EBUSY;
	}
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Directories that only led to what was restored. */
static void remove_empty(int aside_fd, const char *path)
{
	g_autofree char *at = g_strdup(path);

	while (*at && unlinkat(aside_fd, at, AT_REMOVEDIR) == 0) {
		char *slash = strrchr(at, '/');

		*(slash ? slash : at) = '\0';
	}
}

/* FALSE: it leads out of the tree.  Splits it. */
static bool split_path(const char *path, char **dir, char **name)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	g_autoptr(GPtrArray) kept = g_ptr_array_new();

	for (char **n = names; *n; n++) {
		if (!strcmp(*n, ".") || !strcmp(*n, ".."))
			return false;
		if (**n)
			g_ptr_array_add(kept, *n);
	}
	if (!kept->len)
		return false;
	*name = g_strdup(kept->pdata[kept->len - 1]);
	kept->pdata[kept->len - 1] = NULL;
	*dir = g_strjoinv("/", (char **)kept->pdata);
	return true;
}

/* The name in the directory that is shown so; of two the one that is it as it is.  g_free. */
static char *find_name(int dir_fd, const char *shown)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char *found = NULL;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return g_strdup(shown);
	}
	if (faccessat(fd, shown, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		found = g_strdup(shown);
	while (!found && (e = readdir(dir))) {
		g_autofree char *line = text_line(e->d_name);

		if (!strcmp(line, shown))
			found = g_strdup(e->d_name);
	}
	closedir(dir);
	return found ? found : g_strdup(shown);
}

/* The path below aside/ that is listed so.  g_free. */
static char *find_path(int aside_fd, const char *shown)
{
	g_auto(GStrv) names = g_strsplit(shown, "/", -1);
	int fd = open_directory(aside_fd, ".");

	for (char **name = names; *name && fd >= 0; name++) {
		char *found = **name ? find_name(fd, *name) : g_strdup("");

		g_free(*name);
		*name = found;
		fd = open_below(fd, found, false);
	}
	if (fd >= 0)
		close(fd);
	return g_strjoinv("/", names);
}

/* renameat2(), as the deed of another process. */
static int rename_apart(int from_fd, const char *name, int to_fd, const char *as)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child)
		_exit(renameat2(from_fd, name, to_fd, as, RENAME_NOREPLACE) < 0 ? errno : 0);
	if (TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/*
 * The way back must carry a restored object to the old server, which does not have it: so the
 * restore has to be a change to the journal, which leaves out the changes of this process.  The
 * object first goes to aside/ itself, because the journal asks later where it came from, and the
 * directories that it was in are removed.  After a kill in between it is there.
 */
static int bring_back(int aside_fd, int from, const char *name, int to)
{
	int ret = 0;

	/* another one's, or that of who was killed */
	if (from != aside_fd && faccessat(aside_fd, COMING, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ret = move_entry(aside_fd, COMING, aside_fd, COMING, NULL);
	if (!ret && !project_admits(to, from))
		ret = project_give(from, name, project_of(to));
	if (ret || from == aside_fd)
		return ret ? ret : rename_apart(from, name, to, name);
	if (renameat2(from, name, aside_fd, COMING, RENAME_NOREPLACE) < 0)
		return -errno;
	ret = rename_apart(aside_fd, COMING, to, name);
	if (ret)
		move_entry(aside_fd, COMING, from, name, NULL);
	return ret;
}

static int restore_entry(struct retriever *retriever, int aside_fd, const char *dir,
			 const char *name)
{
	int from = open_directory(aside_fd, "."), to, ret = 0;

	if (from >= 0)
		from = open_below(from, dir, false);
	if (from < 0)
		return from;
	if (faccessat(from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		ret = -errno;
	to = ret ? ret : open_compared(retriever, dir);
	if (to < 0) {
		close(from);
		return to;
	}
	if (faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		ret = -EEXIST;
	if (!ret)
		ret = apart_make(retriever, from, name);
	if (!ret)
		ret = own_walk(from, name, check_entry, NULL);
	if (!ret)
		ret = own_walk(from, name, clear_entry, NULL);
	if (!ret)
		ret = bring_back(aside_fd, *dir ? from : aside_fd, name, to);
	close(from);
	close(to);
	return ret;
}

int aside_restore(struct retriever *retriever, const char *path)
{
	g_autofree char *dir = NULL, *name = NULL, *found = NULL;
	int fd, ret;

	if (!split_path(path, &dir, &name))
		return -EINVAL;
	fd = open_directory(retriever->private_fd, ASIDE_DIR);
	if (fd < 0)
		return fd;
	g_free(dir);
	g_free(name);
	found = find_path(fd, path);
	ret = split_path(found, &dir, &name) ? restore_entry(retriever, fd, dir, name) : -EINVAL;
	if (!ret)
		remove_empty(fd, dir);
	close(fd);
	return ret ? ret : aside_count(retriever);
}
