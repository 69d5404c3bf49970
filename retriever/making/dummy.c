/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/dummy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/source/posix_acl.h"
#include "retriever/making/nameless.h"

int dummy_create(struct retriever *retriever, int dir_fd, bool inherits,
		 const struct source_entry *entry, const char *path)
{
	struct migrate_record rec = {
		.state = MIGRATE_DUMMY, .fileid = entry->attr.fileid, .path = (char *)path};
	struct nameless file;
	int fd, ret;

	if (faccessat(dir_fd, entry->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	fd = nameless_make(&file, retriever, dir_fd, 0);
	ret = fd < 0 ? fd : 0;
	if (!ret && inherits)
		fremovexattr(fd, XATTR_ACL_ACCESS);
	if (!ret)
		ret = migrate_binding_get(fd, "", &rec.binding);
	if (!ret)
		ret = migrate_record_store(fd, &rec);
	if (!ret)
		ret = nameless_name(&file, fd, dir_fd, entry->name);
	if (fd >= 0)
		close(fd);
	nameless_end(&file);
	return ret;
}

bool dummy_is(int dir_fd, const char *name)
{
	struct migrate_record rec;
	struct stat st;
	bool dummy = false;
	int fd;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mode != S_IFREG ||
	    st.st_size)
		return false;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (migrate_record_load(fd, &rec) > 0) {
		dummy = rec.state == MIGRATE_DUMMY;
		migrate_record_clear(&rec);
	}
	close(fd);
	return dummy;
}

static void remove_dummy(struct retriever *retriever, int dir_fd, const char *name)
{
	/* looking and removing are one step: nobody makes the object in between */
	g_mutex_lock(&retriever->dummy_lock);
	if (dummy_is(dir_fd, name))
		unlinkat(dir_fd, name, 0);
	g_mutex_unlock(&retriever->dummy_lock);
}

void dummy_sweep(struct retriever *retriever, int dir_fd)
{
	DIR *dir = retriever_list(dir_fd, ".");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_type == DT_REG || e->d_type == DT_UNKNOWN)
			remove_dummy(retriever, dir_fd, e->d_name);
	if (dir)
		closedir(dir);
}
