/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/dummy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/source/posix_acl.h"

int dummy_create(int dir_fd, bool inherits, const struct source_entry *entry, const char *path)
{
	struct migrate_record rec = {
		.state = MIGRATE_DUMMY, .fileid = entry->attr.fileid, .path = (char *)path};
	int fd, ret;

	if (faccessat(dir_fd, entry->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (inherits)
		fremovexattr(fd, XATTR_ACL_ACCESS);
	ret = migrate_binding_get(fd, "", &rec.binding);
	if (!ret)
		ret = migrate_record_store(fd, &rec);
	if (!ret && linkat(fd, "", dir_fd, entry->name, AT_EMPTY_PATH) < 0)
		ret = -errno;
	close(fd);
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
