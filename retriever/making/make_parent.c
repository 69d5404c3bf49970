/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/make_parent.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#define ROOM_PART 20

char *make_child_path(const char *parent, const char *name)
{
	char *path;

	if (!parent)
		return NULL;
	path = *parent ? g_strconcat(parent, "/", name, NULL) : g_strdup(name);
	if (strlen(path) > MIGRATE_REC_MAX_PATH)
		g_clear_pointer(&path, g_free);
	return path;
}

bool make_has_room(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 && st.f_bavail >= st.f_blocks / ROOM_PART;
}

bool make_wants_data(const struct make_parent *parent, const struct source_attr *attr)
{
	return S_ISREG(attr->mode) && attr->nlink <= 1 && attr->size &&
	       attr->size <= parent->small && !attr->elsewhere;
}

int make_named(int ret, enum make_outcome *outcome)
{
	*outcome = ret == -EEXIST ? MAKE_THERE : MAKE_DONE;
	return ret == -EEXIST ? 0 : ret;
}
