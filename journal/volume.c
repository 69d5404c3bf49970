/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "common/migrate.h"

#define KNOWN_MAX 200000 /* about 30 MB */

struct volume {
	int fd;
	char *root; /* as the kernel calls it */
	dev_t dev;
	struct migrate_binding handle;
	GHashTable *known; /* directory -> enum volume_part */
};

static char *fd_path(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);

	return g_file_read_link(link, NULL);
}

char *volume_path(const struct volume *volume, const struct migrate_binding *object)
{
	int fd = migrate_binding_open(volume->fd, object, O_PATH | O_CLOEXEC);
	char *path = fd < 0 ? NULL : fd_path(fd);

	if (fd >= 0)
		close(fd);
	return path;
}

struct volume *volume_open(const char *root, GError **error)
{
	struct volume *volume = g_new0(struct volume, 1);
	struct stat st;
	int ret;

	volume->known =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	volume->fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = volume->fd < 0 || fstat(volume->fd, &st) < 0
		      ? -errno
		      : migrate_binding_get(volume->fd, NULL, &volume->handle);
	if (!ret) {
		volume->dev = st.st_dev;
		volume->root = fd_path(volume->fd);
		return volume;
	}
	g_set_error(error, JOURNAL_ERROR, -ret,
		    "%s: %s: it must be a directory on a file system that has file handles "
		    "(name_to_handle_at)",
		    root, g_strerror(-ret));
	volume_close(volume);
	return NULL;
}

void volume_close(struct volume *volume)
{
	if (volume->fd >= 0)
		close(volume->fd);
	g_hash_table_destroy(volume->known);
	g_free(volume->root);
	g_free(volume);
}

int volume_fd(const struct volume *volume)
{
	return volume->fd;
}

const struct migrate_binding *volume_root(const struct volume *volume)
{
	return &volume->handle;
}

uint64_t volume_fsid(const struct volume *volume)
{
	return migrate_fs_id(volume->fd);
}

/* ---- where a directory is -------------------------------------------------------------------- */

void volume_note(struct volume *volume, const struct migrate_binding *dir, enum volume_part part)
{
	if (g_hash_table_size(volume->known) >= KNOWN_MAX)
		volume_forget(volume);
	g_hash_table_insert(volume->known, g_memdup2(dir, sizeof(*dir)), GINT_TO_POINTER(part));
}

void volume_forget(struct volume *volume)
{
	g_hash_table_remove_all(volume->known);
}

/* .migrate/ of the root, and not a client's directory of that name. */
static bool is_private_directory(const struct volume *volume, int fd,
				 const struct migrate_binding *handle)
{
	struct migrate_binding named;

	return migrate_binding_get(volume->fd, MIGRATE_PRIVATE_DIR, &named) == 0 &&
	       migrate_binding_equal(handle, &named) && migrate_private_is_marked(fd);
}

bool volume_links(const struct volume *volume, struct migrate_binding *links)
{
	int fd = openat(volume->fd, MIGRATE_PRIVATE_DIR,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool found = fd >= 0 && migrate_private_is_marked(fd) &&
		     migrate_binding_get(fd, MIGRATE_LINKS_DIR, links) == 0;

	if (fd >= 0)
		close(fd);
	return found;
}

static bool is_links(const struct volume *volume, const struct migrate_binding *dir)
{
	struct migrate_binding links;

	return volume_links(volume, &links) && migrate_binding_equal(dir, &links);
}

/* What a directory is by itself, or false. */
static bool find_known_directory(struct volume *volume, int fd, const struct migrate_binding *dir,
				 enum volume_part *part)
{
	gpointer known;

	if (migrate_binding_equal(dir, &volume->handle))
		*part = VOLUME_WITHIN;
	else if (g_hash_table_lookup_extended(volume->known, dir, NULL, &known))
		*part = GPOINTER_TO_INT(known);
	else if (is_private_directory(volume, fd, dir))
		*part = VOLUME_PRIVATE;
	else if (is_links(volume, dir))
		*part = VOLUME_LINKS;
	else
		return false;
	return true;
}

/* fd becomes that of the directory above it.  false: *part is outside, because this is the top, or
 * not below what is mounted here; or within, because it cannot be told. */
static bool go_up(const struct volume *volume, int *fd, struct migrate_binding *dir,
		  enum volume_part *part)
{
	const struct migrate_binding from = *dir;
	int above = openat(*fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	close(*fd);
	*fd = above;
	*part = VOLUME_WITHIN;
	if (above < 0 || fstat(above, &st) < 0)
		return false;
	*part = VOLUME_OUTSIDE;
	if (st.st_dev != volume->dev)
		return false;
	if (migrate_binding_get(above, NULL, dir))
		*part = VOLUME_WITHIN;
	else if (!migrate_binding_equal(&from, dir))
		return true;
	return false;
}

enum volume_part volume_part(struct volume *volume, const struct migrate_binding *dir)
{
	g_autoptr(GArray) passed = g_array_new(FALSE, FALSE, sizeof(*dir));
	struct migrate_binding at = *dir;
	enum volume_part part;
	gpointer known;
	int fd;

	if (g_hash_table_lookup_extended(volume->known, dir, NULL, &known))
		return GPOINTER_TO_INT(known);
	fd = migrate_binding_open(volume->fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return VOLUME_WITHIN;
	while (!find_known_directory(volume, fd, &at, &part)) {
		g_array_append_val(passed, at);
		if (!go_up(volume, &fd, &at, &part))
			break;
	}
	if (fd >= 0)
		close(fd);
	for (unsigned i = 0; i < passed->len; i++)
		volume_note(volume, &g_array_index(passed, struct migrate_binding, i), part);
	return part;
}

/* ---- what is there --------------------------------------------------------------------------- */

int volume_holds(const struct volume *volume, const struct migrate_binding *object,
		 const struct migrate_binding *dir, const char *name)
{
	struct migrate_binding found;
	int fd = migrate_binding_open(volume->fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 ? fd : migrate_binding_get(fd, name, &found);

	if (fd >= 0)
		close(fd);
	if (ret == -ENOENT || ret == -ENOTDIR || ret == -ESTALE)
		return 0;
	return ret ? ret : migrate_binding_equal(&found, object);
}

bool volume_exists(const struct volume *volume, const struct migrate_binding *object,
		   struct stat *st)
{
	struct stat own;
	int fd = migrate_binding_open(volume->fd, object, O_PATH | O_CLOEXEC);
	bool exists;

	if (fd < 0)
		return fd != -ESTALE; /* not to be told: it is better kept */
	exists = fstat(fd, st ? st : &own) < 0 || (st ? st : &own)->st_nlink > 0;
	close(fd);
	return exists;
}

bool volume_has(const struct volume *volume, const struct migrate_binding *object)
{
	g_autofree char *path = volume_path(volume, object);
	size_t len = strlen(volume->root);

	/* A file whose directory is not in memory has no path: "/".  What has names still may be
	 * had in memory by one that was removed. */
	if (!path || !strcmp(path, "/") || g_str_has_suffix(path, " (deleted)") ||
	    !strcmp(volume->root, "/"))
		return true;
	return g_str_has_prefix(path, volume->root) && (path[len] == '/' || !path[len]);
}
