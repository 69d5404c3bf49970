/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/report/parts.h"
#include "lib/base/filetree.h"

struct read {
	bool hash, private;
	bool whole; /* the root came, which is the last; what failed below it was told */
	struct proof_sorter *sorter;
	tree_fn fn;
	void *arg;
	GString *line;
	GError *error;
};

static bool is_private(const char *path)
{
	size_t len = strlen(MIGRATE_PRIVATE_DIR);

	return !strncmp(path, MIGRATE_PRIVATE_DIR, len) && (!path[len] || path[len] == '/');
}

/* Opens an object for reading, without waiting, and without moving its atime if this process may do
 * so. */
static int open_object(int dir_fd, const char *name)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(dir_fd, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dir_fd, name, flags) : fd;
}

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool look_inside(struct read *read, const struct own_entry *e, struct proof_entry *entry)
{
	g_autoptr(GError) error = NULL;
	uint64_t bytes;
	bool ok = true;
	int fd = open_object(e->dir_fd, e->name);

	if (fd < 0) {
		read->fn(read->arg, e->path, g_strerror(errno));
		return false;
	}
	if (migrate_has_record(fd) != 0)
		entry->status = PROOF_UNFINISHED;
	else if (read->hash && S_ISREG(e->st->st_mode))
		ok = part_hash(fd, &bytes, entry->sha256, &error);
	if (!ok)
		read->fn(read->arg, e->path, error->message);
	close(fd);
	return ok;
}

static char *read_target(const struct own_entry *e)
{
	char room[PATH_MAX + 1];
	ssize_t n = readlinkat(e->dir_fd, e->name, room, sizeof room);

	return g_strndup(room, MAX(n, 0));
}

static int read_one(void *arg, const struct own_entry *e)
{
	struct read *read = arg;
	const struct stat *st = e->st;
	struct proof_entry entry = {
		.path = (char *)e->path,
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = st->st_size,
		.mtime = mtime_of(st),
		.rdev = st->st_rdev,
		.nlink = st->st_nlink,
		.status = PROOF_NOT_SAMPLED,
	};
	g_autofree char *target = S_ISLNK(st->st_mode) ? read_target(e) : NULL;

	if (read->private && is_private(e->path))
		return 0;
	entry.link = target;
	if ((S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) && look_inside(read, e, &entry) &&
	    e->error)
		read->fn(read->arg, e->path, g_strerror(-e->error));
	read->whole = !*e->path;
	g_string_truncate(read->line, 0);
	proof_entry_format(read->line, &entry);
	return proof_sorter_add(read->sorter, read->line->str, read->line->len, &read->error)
		       ? 0
		       : -EIO;
}

gboolean tree_read(int root_fd, bool hash, struct proof_sorter *sorter, tree_fn fn, void *arg,
		   GError **error)
{
	struct read read = {.hash = hash, .sorter = sorter, .fn = fn, .arg = arg};
	int ret;

	read.private = migrate_has_private(root_fd);
	read.line = g_string_new(NULL);
	ret = own_walk(root_fd, ".", read_one, &read);
	g_string_free(read.line, TRUE);
	if (read.error)
		g_propagate_error(error, read.error);
	else if (ret && !read.whole)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "the tree cannot be read: %s", g_strerror(-ret));
	return !read.error && (!ret || read.whole);
}

/* Opens a path one name at a time: it may be longer than the kernel takes at once. */
static int open_path(int root_fd, const char *path)
{
	g_auto(GStrv) names = g_strsplit(path, "/", -1);
	int fd = -1, dir_fd = root_fd;

	for (char **name = names; *name; name++) {
		fd = name[1] ? openat(dir_fd, *name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			     : open_object(dir_fd, *name);
		if (dir_fd != root_fd)
			close(dir_fd);
		if (fd < 0)
			return -1;
		dir_fd = fd;
	}
	return fd;
}

bool tree_hash(int root_fd, struct proof_entry *entry)
{
	int fd = open_path(root_fd, entry->path);
	uint64_t bytes;
	struct stat st;
	bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && S_ISREG(entry->mode) &&
		  (uint64_t)st.st_size == entry->size && mtime_of(&st) == entry->mtime &&
		  migrate_has_record(fd) == 0 && part_hash(fd, &bytes, entry->sha256, NULL);

	if (ok && bytes != entry->size) {
		entry->sha256[0] = '\0'; /* somebody writes to it */
		ok = false;
	}
	if (fd >= 0)
		close(fd);
	return ok;
}
