/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static gboolean failed_part(GError **error, const char *name)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", name,
		    g_strerror(errno));
	return FALSE;
}

static char *new_name(const char *name)
{
	return g_strconcat(name, ".new", NULL);
}

int part_create(int dir_fd, const char *name, GError **error)
{
	g_autofree char *new = new_name(name);
	int fd;

	unlinkat(dir_fd, new, 0);
	fd = openat(dir_fd, new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		failed_part(error, new);
	return fd;
}

gboolean part_keep(int dir_fd, const char *name, GError **error)
{
	g_autofree char *new = new_name(name);
	int fd = openat(dir_fd, new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	gboolean ok = fd >= 0 && fsync(fd) == 0;

	ok = ok && renameat(dir_fd, new, dir_fd, name) == 0 && fsync(dir_fd) == 0;
	if (!ok)
		failed_part(error, new);
	if (fd >= 0)
		close(fd);
	return ok;
}

void part_drop(int dir_fd, const char *name)
{
	g_autofree char *new = new_name(name);

	unlinkat(dir_fd, new, 0);
}

gboolean part_hash(int fd, uint64_t *bytes, char hex[PROOF_HASH_HEX + 1], GError **error)
{
	struct proof_hash *hash = proof_hash_new();
	g_autofree char *room = g_malloc(1 << 20);
	ssize_t n;

	*bytes = 0;
	while ((n = pread(fd, room, 1 << 20, (off_t)*bytes)) > 0) {
		proof_hash_add(hash, room, n);
		*bytes += n;
	}
	proof_hash_take(hash, hex);
	proof_hash_free(hash);
	return n == 0 || failed_part(error, "it cannot be read");
}
