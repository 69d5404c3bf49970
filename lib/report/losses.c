/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/report/losses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_MAX 300000 /* about 10 MB */

struct losses {
	GMutex lock;	   /* a leaf: only the file system is called with it held */
	int fd;		   /* the file, or -1 */
	int dir_fd;	   /* not owned; -1: there is no volume */
	GHashTable *known; /* hashes of lines */
	uint64_t lines, names, rules;
	uint64_t changes, synced; /* changes of the file, and how many of these are durable */
};

static const char *const kind_names[LOSS_KINDS] = {"acl",	"xattr", "source", "owner",
						   "mode",	"time",	 "link",   "name",
						   "retention", "rule",	 "volume"};

const char *loss_kind_name(enum loss_kind kind)
{
	return kind_names[kind];
}

char *loss_escape(const char *text)
{
	char high[129] = ""; /* bytes beyond ASCII, which are not escaped */

	if (g_utf8_validate(text, -1, NULL)) {
		for (unsigned i = 0; i < 128; i++)
			high[i] = (char)(128 + i);
		return g_strescape(text, high);
	}
	return g_strescape(text, NULL);
}

static gpointer hash_line(const char *line, size_t len)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)line[i]) * UINT64_C(1099511628211);
	return (gpointer)(uintptr_t)h;
}

/* Lock held.  Whether the line is new. */
static bool remember_line(struct losses *losses, const char *line, size_t len)
{
	if (g_hash_table_size(losses->known) >= KNOWN_MAX)
		g_hash_table_remove_all(losses->known);
	return g_hash_table_add(losses->known, hash_line(line, len));
}

/* Lock held. */
static void count_line(struct losses *losses, const char *line)
{
	if (g_str_has_prefix(line, "rule\t"))
		losses->rules++;
	else if (!g_str_has_prefix(line, "volume\t") &&
		 !g_str_has_prefix(line, LOSS_RETRACTED "\t"))
		losses->lines++;
	if (g_str_has_prefix(line, "name\t"))
		losses->names++;
}

/* Lock held.  A crash may have cut the last line. */
static void load_lines(struct losses *losses)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *file;
	int fd = openat(losses->dir_fd, LOSSES_FILE, O_RDONLY | O_CLOEXEC);

	file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && (len = getline(&line, &room, file)) > 0) {
		if (line[len - 1] != '\n') {
			losses->changes += write(losses->fd, "\n", 1) == 1;
			len++;
		}
		count_line(losses, line);
		remember_line(losses, line, len - 1);
	}
	free(line);
	if (file)
		fclose(file);
}

/* Lock held. */
static int open_file(struct losses *losses)
{
	if (losses->fd >= 0)
		return 0;
	if (losses->dir_fd < 0)
		return -ENOENT;
	losses->fd = openat(losses->dir_fd, LOSSES_FILE, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			    0600);
	return losses->fd < 0 ? -errno : 0;
}

void losses_set_directory(struct losses *losses, int private_fd)
{
	g_mutex_lock(&losses->lock);
	if (losses->fd >= 0) {
		fdatasync(losses->fd);
		close(losses->fd);
	}
	losses->fd = -1;
	losses->dir_fd = private_fd;
	losses->lines = losses->names = losses->rules = 0;
	losses->synced = losses->changes;
	g_hash_table_remove_all(losses->known);
	if (private_fd >= 0 && faccessat(private_fd, LOSSES_FILE, F_OK, 0) == 0 &&
	    open_file(losses) == 0)
		load_lines(losses);
	g_mutex_unlock(&losses->lock);
}

struct losses *losses_new(int private_fd)
{
	struct losses *losses = g_new0(struct losses, 1);

	g_mutex_init(&losses->lock);
	losses->fd = -1;
	losses->known = g_hash_table_new(g_direct_hash, g_direct_equal);
	losses_set_directory(losses, private_fd);
	return losses;
}

void losses_free(struct losses *losses)
{
	if (!losses)
		return;
	losses_set_directory(losses, -1);
	g_hash_table_destroy(losses->known);
	g_mutex_clear(&losses->lock);
	g_free(losses);
}

/* Lock held.  A line that was half written is taken back. */
static int append_line(struct losses *losses, const char *line, size_t len)
{
	int ret = open_file(losses);
	off_t before;
	ssize_t n;

	if (ret)
		return ret;
	before = lseek(losses->fd, 0, SEEK_END);
	n = write(losses->fd, line, len);
	if (n == (ssize_t)len)
		return 0;
	ret = n < 0 ? -errno : -ENOSPC;
	if (n > 0 && ftruncate(losses->fd, before) < 0)
		ret = -errno;
	return ret;
}

char *losses_line(enum loss_kind kind, const char *path, const char *text)
{
	g_autofree char *p = loss_escape(path), *t = loss_escape(text);

	return g_strdup_printf("%s\t%s\t%s", kind_names[kind], p, t);
}

int losses_add(struct losses *losses, enum loss_kind kind, const char *path, const char *text)
{
	g_autofree char *bare = losses_line(kind, path, text);
	g_autofree char *line = g_strconcat(bare, "\n", NULL);
	size_t len = strlen(line);
	int ret = 0;

	g_mutex_lock(&losses->lock);
	if (remember_line(losses, line, len - 1)) {
		ret = append_line(losses, line, len);
		if (ret) {
			g_hash_table_remove(losses->known, hash_line(line, len - 1));
		} else {
			count_line(losses, line);
			losses->changes++;
		}
	}
	g_mutex_unlock(&losses->lock);
	return ret;
}

uint64_t losses_count(struct losses *losses)
{
	uint64_t lines;

	g_mutex_lock(&losses->lock);
	lines = losses->lines;
	g_mutex_unlock(&losses->lock);
	return lines;
}

uint64_t losses_names(struct losses *losses)
{
	uint64_t names;

	g_mutex_lock(&losses->lock);
	names = losses->names;
	g_mutex_unlock(&losses->lock);
	return names;
}

uint64_t losses_rules(struct losses *losses)
{
	uint64_t rules;

	g_mutex_lock(&losses->lock);
	rules = losses->rules;
	g_mutex_unlock(&losses->lock);
	return rules;
}

int losses_sync(struct losses *losses)
{
	uint64_t changes;
	int fd = -1, ret = 0;

	g_mutex_lock(&losses->lock);
	changes = losses->changes;
	if (losses->synced < changes) { /* by nobody yet who has come back */
		fd = fcntl(losses->fd, F_DUPFD_CLOEXEC, 3);
		ret = fd < 0 ? -errno : 0;
	}
	g_mutex_unlock(&losses->lock);
	if (fd < 0)
		return ret;
	ret = fdatasync(fd) < 0 ? -errno : 0;
	close(fd);
	g_mutex_lock(&losses->lock);
	if (!ret)
		losses->synced = MAX(losses->synced, changes);
	g_mutex_unlock(&losses->lock);
	return ret;
}

/* A line that is taken back. */
struct found_line {
	off_t at;
	gpointer hash;
};

static int find_lines(FILE *file, GHashTable *lines, GArray *found)
{
	struct found_line one;
	char *line = NULL;
	size_t room = 0;
	off_t at = 0;
	ssize_t len;

	while ((len = getline(&line, &room, file)) > 0) {
		one.at = at;
		at += len;
		line[len - (line[len - 1] == '\n')] = '\0';
		if (!g_str_has_prefix(line, "rule\t") || !g_hash_table_contains(lines, line))
			continue;
		one.hash = hash_line(line, strlen(line));
		g_array_append_val(found, one);
	}
	free(line);
	return ferror(file) ? -EIO : 0;
}

/* Lock held.  fd: not the one that is added to, of which what is written goes to its end. */
static int retract_lines(struct losses *losses, int fd, const GArray *found)
{
	const ssize_t len = strlen(LOSS_RETRACTED);

	for (guint i = 0; i < found->len; i++) {
		const struct found_line *line = &g_array_index(found, struct found_line, i);

		if (pwrite(fd, LOSS_RETRACTED, len, line->at) != len)
			return -EIO;
		g_hash_table_remove(losses->known, line->hash);
		losses->rules--;
	}
	return 0;
}

/* Lines are only added, and taken back without a move: so nobody waits while they are looked for.
 */
int losses_retract(struct losses *losses, GHashTable *lines)
{
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct found_line));
	FILE *file;
	int fd, ret;

	g_mutex_lock(&losses->lock);
	fd = openat(losses->dir_fd, LOSSES_FILE, O_RDWR | O_CLOEXEC);
	ret = fd < 0 ? -errno : 0;
	g_mutex_unlock(&losses->lock);
	file = fd < 0 ? NULL : fdopen(fd, "r+");
	if (!file && fd >= 0)
		close(fd);
	if (!file)
		return ret ? ret : -ENOMEM;
	ret = find_lines(file, lines, found);
	g_mutex_lock(&losses->lock);
	if (!ret)
		ret = retract_lines(losses, fd, found);
	g_mutex_unlock(&losses->lock);
	if (fdatasync(fd) < 0 && !ret)
		ret = -EIO;
	fclose(file);
	return ret;
}

static int copy_lines(int from, int to)
{
	char room[65536];
	ssize_t n;

	while ((n = read(from, room, sizeof room)) > 0)
		if (write(to, room, n) != n)
			return -ENOSPC;
	return n < 0 ? -errno : 0;
}

/* Writes head and lines to a new file in dir, and then renames it to name. */
static int write_kept(int from, int dir, const char *name, const char *head)
{
	g_autofree char *new = g_strconcat(name, ".new", NULL);
	int fd = openat(dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && write(fd, head, strlen(head)) != (ssize_t)strlen(head))
		ret = -ENOSPC;
	if (!ret && from >= 0)
		ret = copy_lines(from, fd);
	if (!ret && fsync(fd) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(dir, new, dir, name) < 0)
		ret = -errno;
	if (!ret && fsync(dir) < 0)
		ret = -errno;
	return ret;
}

int losses_keep(struct losses *losses, const char *path, const char *head)
{
	g_autofree char *dir = g_path_get_dirname(path), *name = g_path_get_basename(path);
	int to, from, ret;

	if (g_mkdir_with_parents(dir, 0755) < 0)
		return -errno;
	to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return -errno;
	g_mutex_lock(&losses->lock);
	from = openat(losses->dir_fd, LOSSES_FILE, O_RDONLY | O_CLOEXEC);
	ret = from < 0 && errno != ENOENT ? -errno : write_kept(from, to, name, head);
	g_mutex_unlock(&losses->lock);
	if (from >= 0)
		close(from);
	close(to);
	return ret;
}

bool loss_parse(const char *line, struct loss_line *out)
{
	g_auto(GStrv) parts = g_strsplit(line, "\t", 3);

	if (g_strv_length(parts) != 3)
		return false;
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		if (strcmp(parts[0], kind_names[kind]))
			continue;
		g_strchomp(parts[2]);
		*out = (struct loss_line){kind, g_strcompress(parts[1]), g_strcompress(parts[2])};
		return true;
	}
	return false;
}

void loss_line_clear(struct loss_line *line)
{
	g_clear_pointer(&line->path, g_free);
	g_clear_pointer(&line->text, g_free);
}
