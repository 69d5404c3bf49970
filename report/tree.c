/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "migrate.h"
#include "report/parts.h"
#include "volume/own_files.h"

struct read {
	bool hash;
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

/* For reading; nothing is waited for, and no atime moves where we may leave it alone. */
static int open_object(const struct own_entry *e)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(e->dir_fd, e->name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(e->dir_fd, e->name, flags) : fd;
}

static bool look_inside(struct read *read, const struct own_entry *e, struct proof_entry *entry)
{
	g_autoptr(GError) error = NULL;
	uint64_t bytes;
	bool ok = true;
	int fd = open_object(e);

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
		.mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.rdev = st->st_rdev,
		.nlink = st->st_nlink,
		.status = PROOF_NOT_SAMPLED,
	};
	g_autofree char *target = S_ISLNK(st->st_mode) ? read_target(e) : NULL;

	if (is_private(e->path))
		return 0;
	entry.link = target;
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		look_inside(read, e, &entry);
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

	read.line = g_string_new(NULL);
	ret = own_walk(root_fd, ".", read_one, &read);
	g_string_free(read.line, TRUE);
	if (read.error)
		g_propagate_error(error, read.error);
	else if (ret)
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "the tree cannot be read: %s", g_strerror(-ret));
	return ret == 0;
}
