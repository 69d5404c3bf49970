/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usershares: shares that users make (net usershare add), each a small file in the directory of
 * `usershare path`.  `testparm -s` prints none of them; what they do not say is as in [global], or
 * as in the share that `usershare template share` names.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/doors/served.h"

#define FILE_MAX (10 * 1024) /* Samba's own */

/* The text of a usershare that Samba takes; g_free.  NULL: it is none. */
static char *read_usershare(int dir, const char *name, struct stat *st)
{
	const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	g_autofree char *text = g_malloc0(FILE_MAX + 1);
	const bool good = fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
			  !(st->st_mode & S_IWOTH) && st->st_size <= FILE_MAX &&
			  read(fd, text, FILE_MAX) > 0;

	if (fd >= 0)
		close(fd);
	return good && g_str_has_prefix(text, "#VERSION ") ? g_steal_pointer(&text) : NULL;
}

/* The value of "key=value" in its lines; g_free.  NULL: none. */
static char *usershare_value(const char *text, const char *key)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const size_t len = strlen(key);

	for (unsigned i = 1; lines[0] && lines[i]; i++)
		if (g_str_has_prefix(lines[i], key) && lines[i][len] == '=')
			return g_strstrip(g_strdup(lines[i] + len + 1));
	return NULL;
}

/* Whether Samba lets the file's user share that directory, or may do so once it is here: it looks
 * again whenever a client asks for the share. */
static bool may_share(const struct stat *file, const char *path, bool owner_only)
{
	struct stat st;
	bool whole;
	const int fd = owner_only && file->st_uid ? migrate_open_served(path, &whole) : -1;
	const bool his = fd >= 0 && (!whole || migrate_has_record(fd) || fstat(fd, &st) < 0 ||
				     st.st_uid == file->st_uid);

	if (fd >= 0)
		close(fd);
	return !owner_only || file->st_uid == 0 || his;
}

/* The directory of usershares, O_PATH; -1: it is none that Samba takes. */
static int open_usershares(const char *dir)
{
	struct stat st;
	const int fd = *dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == 0 &&
		       (st.st_mode & (S_ISVTX | S_IWOTH)) == S_ISVTX))
		return fd;
	close(fd);
	return -1;
}

void served_by_usershares(GPtrArray *list, const struct usershares *shares)
{
	const char *dir = shares->path ? shares->path : USERSHARES_PATH;
	const int fd = open_usershares(dir);
	g_autoptr(GDir) names = fd >= 0 ? g_dir_open(dir, 0, NULL) : NULL;
	const char *file;

	while (names && (file = g_dir_read_name(names))) {
		struct stat st;
		g_autofree char *text = read_usershare(fd, file, &st);
		g_autofree char *path = text ? usershare_value(text, "path") : NULL;
		g_autofree char *given = text ? usershare_value(text, "sharename") : NULL;
		g_autofree char *name = g_strdup_printf("usershare [%s]", given ? given : file);

		if (path && *path == '/' && may_share(&st, path, shares->owner_only))
			served_add(list, name, path, shares->layer);
	}
	if (fd >= 0)
		close(fd);
}
