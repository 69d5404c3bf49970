/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doors/served.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"

static void served_free(void *data)
{
	struct served *served = data;

	g_free(served->name);
	g_free(served->path);
	g_free(served);
}

GPtrArray *served_new(void)
{
	return g_ptr_array_new_with_free_func(served_free);
}

void served_add(GPtrArray *list, const char *name, const char *path, bool layer)
{
	struct served *served = g_new0(struct served, 1);

	*served = (struct served){g_strdup(name), g_strdup(path), layer};
	g_ptr_array_add(list, served);
}

static int open_target(const char *root)
{
	return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* 2: a volume that is whole and not finalized is there, 1: an unfinished one, 0: none; or -errno.
 */
static int inspect_served(const char *root)
{
	struct migrate_inspection found;
	const int fd = open_target(root);
	const int result = fd < 0 ? -errno : migrate_inspect(fd, &found);

	if (fd >= 0)
		close(fd);
	if (result)
		return result;
	return found.unfinished ? 1 : found.to_be_finalized ? 2 : 0;
}

bool served_is_unfinished(const char *root)
{
	const int found = inspect_served(root);

	return found > 0 || found == -EBADMSG;
}

bool served_is_whole(const char *root)
{
	return inspect_served(root) == 2;
}

bool served_is_away(const char *root)
{
	const int found = inspect_served(root);

	return found == 0 || found == -ENOENT;
}

/* Whether path is in dir, or the same; both without links. */
static bool lies_below(const char *path, const char *dir)
{
	const size_t len = strlen(dir);

	return g_str_equal(dir, "/") ||
	       (g_str_has_prefix(path, dir) && (path[len] == '/' || path[len] == '\0'));
}

static bool same_device(int a, int b)
{
	struct stat st_a, st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev;
}

/* Whether two paths overlap: if the directories exist, through links and mounts; else by their
 * names. */
static bool paths_overlap(const char *path, const char *root)
{
	g_autofree char *a = g_canonicalize_filename(path, "/");
	g_autofree char *b = g_canonicalize_filename(root, "/");
	struct migrate_inspection found;
	bool overlap = lies_below(a, b) || lies_below(b, a), whole;
	const int fd = migrate_open_served(path, &whole), root_fd = open_target(root);

	if (fd >= 0 && root_fd >= 0 && !whole)
		overlap |= migrate_lies_in(fd, root_fd);
	else if (fd >= 0 && root_fd >= 0)
		overlap = migrate_overlap(fd, root_fd) ||
			  /* a part of it that is mounted elsewhere, too */
			  (same_device(fd, root_fd) && migrate_inspect(fd, &found) == 0 &&
			   (found.unfinished || found.to_be_finalized));
	if (fd >= 0)
		close(fd);
	if (root_fd >= 0)
		close(root_fd);
	return overlap;
}

/* Whether the part of root behind dir begins with a user's name, in whose place the path has one.
 */
static bool names_user(const char *variable, const char *rest)
{
	static const char *const users[] = {"%u", "%U", "%S", NULL};
	g_auto(GStrv) parts = g_strsplit(variable, "/", 2), names = g_strsplit(rest, "/", 2);

	return parts[0] && names[0] && g_strv_contains(users, parts[0]) && getpwnam(names[0]);
}

/* Looks at a path with variables by the part before the first component that has one. */
static bool variable_overlaps(const struct served *served, const char *root, served_warn_fn warn,
			      void *arg)
{
	g_autofree char *start = g_strndup(served->path, strcspn(served->path, "%"));
	char *slash = strrchr(start, '/');
	g_autofree char *dir = slash ? g_strndup(start, (gsize)(slash - start) + 1) : NULL;

	if (!dir) {
		g_autofree char *line =
			g_strdup_printf("%s: its path is %s: whether that is in %s is not known",
					served->name, served->path, root);
		warn(arg, line);
		return false;
	}
	g_autofree char *plain = g_canonicalize_filename(dir, "/"),
			*real = g_canonicalize_filename(root, "/");
	if (lies_below(plain, real))
		return true;
	if (!paths_overlap(dir, root))
		return false;
	if (!lies_below(real, plain)) /* it is in root, by a link or a mount */
		return true;

	const char *rest = real + (plain[1] ? strlen(plain) + 1 : 1);
	if (names_user(served->path + strlen(dir), rest))
		return true;
	g_autofree char *line =
		g_strdup_printf("%s: its path is %s, which may be %s, or lead there", served->name,
				served->path, root);
	warn(arg, line);
	return false;
}

bool served_covers(const struct served *served, const char *root, served_warn_fn warn, void *arg)
{
	if (!served->path || !*served->path)
		return false;
	return strchr(served->path, '%') ? variable_overlaps(served, root, warn, arg)
					 : paths_overlap(served->path, root);
}

bool served_is_past(const struct served *served, const char *root, served_warn_fn warn, void *arg)
{
	return !served->layer && served_covers(served, root, warn, arg);
}
