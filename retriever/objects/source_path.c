/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/source_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory that holds an open file, as a descriptor; the file's name in *name. -errno. */
static int open_parent(struct object *object, char **name)
{
	g_autofree char *path = retriever_fd_path(object->fd);
	g_autofree char *dir = g_path_get_dirname(path);
	struct stat a, b;
	int fd;

	if (*path != '/')
		return -ESTALE;
	*name = g_path_get_basename(path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* the path may be of another mount, or of nothing at all */
	if (fstat(object->fd, &a) < 0 || fstatat(fd, *name, &b, AT_SYMLINK_NOFOLLOW) < 0 ||
	    a.st_dev != b.st_dev || a.st_ino != b.st_ino) {
		close(fd);
		g_clear_pointer(name, g_free);
		return -ESTALE;
	}
	return fd;
}

char *source_path_of_parent(struct object *object, char **name)
{
	struct object *parent = NULL;
	char *path = NULL;
	int fd = open_parent(object, name);

	if (fd < 0)
		return NULL;
	if (object_get(object->retriever, fd, &parent) == 0) {
		path = object_source_path(parent);
		object_unref(parent);
	}
	close(fd);
	return path;
}

char *source_path_of(struct object *object)
{
	g_autofree char *name = NULL, *parent = NULL;
	char *path;

	path = object_source_path(object);
	if (path || is_directory(object))
		return path;
	parent = source_path_of_parent(object, &name);
	if (!parent)
		return NULL;
	return *parent ? g_strconcat(parent, "/", name, NULL) : g_strdup(name);
}
