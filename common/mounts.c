/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A path, gone down step by step, with a look at the mounts before each: what is on a server that
 * does not answer is not asked, and nothing is mounted that was not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"

#define LINKS_MAX 40

struct mount_point {
	unsigned long long id, parent;
	char *path;
	bool remote;
};

struct mount_list {
	struct mount_point *points;
	size_t n;
};

/* File systems whose answers come from elsewhere, or bring about mounts. */
static bool is_remote(const char *type)
{
	static const char *const types[] = {"9p",   "afs",  "autofs", "beegfs", "ceph",
					    "cifs", "coda", "fuse",   "lustre", "ncpfs",
					    "nfs",  "nfs4", "smb3",   "smbfs",	"gpfs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse.", 5);
}

/* Of mountinfo, where a space is \040. */
static void unescape(char *text)
{
	char *to = text;
	unsigned byte;

	for (; *text; text++, to++) {
		*to = *text;
		if (*text == '\\' && sscanf(text + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			text += 3;
		}
	}
	*to = '\0';
}

static bool add_mount(struct mount_list *list, const char *line)
{
	const char *dash = strstr(line, " - ");
	struct mount_point point = {0}, *points;
	char type[32];

	if (!dash || sscanf(dash, " - %31s", type) != 1 ||
	    sscanf(line, "%llu %llu %*s %*s %ms", &point.id, &point.parent, &point.path) != 3)
		return true;
	unescape(point.path);
	point.remote = is_remote(type);
	points = reallocarray(list->points, list->n + 1, sizeof(*points));
	if (!points) {
		free(point.path);
		return false;
	}
	list->points = points;
	points[list->n++] = point;
	return true;
}

static void clear_mounts(struct mount_list *list)
{
	while (list->n > 0)
		free(list->points[--list->n].path);
	free(list->points);
}

/* Without any where they cannot be read. */
static void read_mounts(struct mount_list *list)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0 && add_mount(list, line))
		;
	free(line);
	if (file)
		fclose(file);
}

static bool mount_is_below(const char *path, const char *dir)
{
	const size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (path[len] == '/' || path[len] == '\0');
}

/* What is mounted there on the mount that has the directory, at the top of all that is. */
static const struct mount_point *mounted_at(const struct mount_list *list, int dir_fd,
					    const char *path)
{
	const struct mount_point *top = NULL;
	struct statx stx;

	if (statx(dir_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx) < 0 ||
	    !(stx.stx_mask & STATX_MNT_ID))
		return NULL;
	for (size_t i = 0; i < list->n; i++) {
		const struct mount_point *point = &list->points[i];

		if (point->parent == (top ? top->id : stx.stx_mnt_id) &&
		    !strcmp(point->path, path)) {
			top = point;
			i = (size_t)-1; /* from the start: the list has no order */
		}
	}
	return top;
}

/* Whether the path, which goes on with rest behind a remote mount, comes to a local one, or has one
 * below. */
static bool comes_back(const struct mount_list *list, const char *mount, const char *rest)
{
	char path[2 * PATH_MAX];

	if (strstr(rest, ".."))
		return true;
	while (*rest == '/')
		rest++;
	snprintf(path, sizeof(path), "%s%s%s", mount, *rest ? "/" : "", rest);
	for (size_t len = strlen(path); path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	for (size_t i = 0; i < list->n; i++) {
		const struct mount_point *point = &list->points[i];

		if (!point->remote && mount_is_below(point->path, mount) &&
		    strcmp(point->path, mount) != 0 &&
		    (mount_is_below(point->path, path) || mount_is_below(path, point->path)))
			return true;
	}
	return false;
}

/* Where a walk is: the directory, its path ("" for /) and what is to come. */
struct walk {
	const struct mount_list *mounts;
	int fd;
	char here[PATH_MAX], rest[PATH_MAX];
	unsigned links;
};

static void walk_to(struct walk *walk, int fd)
{
	close(walk->fd);
	walk->fd = fd;
}

/* Goes on with what the link says.  0 or -errno. */
static int walk_link(struct walk *walk, int link_fd)
{
	char target[PATH_MAX], rest[2 * PATH_MAX];
	const ssize_t len = readlinkat(link_fd, "", target, sizeof(target) - 1);
	int fd, n;

	if (len < 0 || ++walk->links > LINKS_MAX)
		return len < 0 ? -errno : -ELOOP;
	target[len] = '\0';
	n = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);
	if ((size_t)n >= sizeof(walk->rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)n + 1);
	if (target[0] != '/')
		return 0;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	walk_to(walk, fd);
	walk->here[0] = '\0';
	return 0;
}

/* One component.  0, or -errno: -EREMOTE where it would ask another server. */
static int walk_step(struct walk *walk, const char *name)
{
	const size_t len = strlen(walk->here);
	const bool up = !strcmp(name, "..");
	const struct mount_point *point;
	struct stat st;
	int fd, result = 0;

	if (up)
		*(len ? strrchr(walk->here, '/') : walk->here) = '\0';
	else if ((size_t)snprintf(walk->here + len, sizeof(walk->here) - len, "/%s", name) >=
		 sizeof(walk->here) - len)
		return -ENAMETOOLONG;
	point = up ? NULL : mounted_at(walk->mounts, walk->fd, walk->here);
	if (point && point->remote && !comes_back(walk->mounts, walk->here, walk->rest))
		return -EREMOTE;
	fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		result = -errno;
	else if (S_ISDIR(st.st_mode)) {
		walk_to(walk, fd);
		return 0;
	} else if (!S_ISLNK(st.st_mode))
		result = -ENOTDIR;
	else {
		walk->here[len] = '\0';
		result = walk_link(walk, fd);
	}
	close(fd);
	return result;
}

static int open_served(const struct mount_list *mounts, const char *path, bool *whole)
{
	struct walk walk = {.mounts = mounts, .fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	char name[NAME_MAX + 1];
	int result = walk.fd < 0 ? -errno : 0;

	if (snprintf(walk.rest, sizeof(walk.rest), "%s", path) >= (int)sizeof(walk.rest))
		result = -ENAMETOOLONG;
	while (result == 0 && *walk.rest) {
		const size_t slashes = strspn(walk.rest, "/");
		const size_t len = strcspn(walk.rest + slashes, "/");

		if (len > NAME_MAX) {
			result = -ENAMETOOLONG;
			break;
		}
		memcpy(name, walk.rest + slashes, len);
		name[len] = '\0';
		memmove(walk.rest, walk.rest + slashes + len,
			strlen(walk.rest + slashes + len) + 1);
		if (*name && strcmp(name, ".") != 0)
			result = walk_step(&walk, name);
	}
	*whole = result == 0;
	if (result < 0 && (result == -EREMOTE || walk.fd < 0)) {
		if (walk.fd >= 0)
			close(walk.fd);
		return result;
	}
	return walk.fd;
}

int migrate_open_served(const char *path, bool *whole)
{
	struct mount_list mounts = {0};
	int fd;

	read_mounts(&mounts);
	fd = open_served(&mounts, path, whole);
	clear_mounts(&mounts);
	return fd;
}

/* Whether what is mounted there is the directory, above it or in it.  A part of it that is mounted
 * there says so itself, as long as it is unfinished. */
static bool mount_shows(int fd, int dir_fd)
{
	struct migrate_inspection found;
	struct stat st, dir_st;

	return migrate_lies_in(fd, dir_fd) || migrate_lies_in(dir_fd, fd) ||
	       (fstat(fd, &st) == 0 && fstat(dir_fd, &dir_st) == 0 && st.st_dev == dir_st.st_dev &&
		migrate_inspect(fd, &found) == 0 && (found.unfinished || found.to_be_finalized));
}

static bool mounts_overlap(int fd, int dir_fd)
{
	struct mount_list mounts = {0};
	char *path = migrate_fd_path(fd);
	bool overlap = false, whole;

	if (path)
		read_mounts(&mounts);
	for (size_t i = 0; i < mounts.n && !overlap; i++) {
		const struct mount_point *point = &mounts.points[i];
		int below;

		if (point->remote || !mount_is_below(point->path, strcmp(path, "/") ? path : ""))
			continue;
		below = open_served(&mounts, point->path, &whole);
		overlap = below >= 0 && whole && mount_shows(below, dir_fd);
		if (below >= 0)
			close(below);
	}
	clear_mounts(&mounts);
	free(path);
	return overlap;
}

bool migrate_overlap(int fd, int dir_fd)
{
	return fd >= 0 && dir_fd >= 0 &&
	       (migrate_lies_in(fd, dir_fd) || migrate_lies_in(dir_fd, fd) ||
		mounts_overlap(fd, dir_fd));
}
