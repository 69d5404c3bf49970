/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/lost_found.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "retriever/copies/aside.h"

int lost_found_remove(int root_fd)
{
	if (unlinkat(root_fd, MIGRATE_LOST_FOUND, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == ENOTDIR ? -ENOTEMPTY : -errno;
}

const char *lost_found_text(int root_fd)
{
	if (faccessat(root_fd, MIGRATE_LOST_FOUND, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
	    migrate_is_empty(root_fd, MIGRATE_LOST_FOUND))
		return "";
	return " (its " MIGRATE_LOST_FOUND " has something in it)";
}

static bool is_unfilled(int fd)
{
	struct migrate_record rec;
	bool unfilled;

	if (migrate_record_load(fd, &rec) <= 0)
		return false;
	unfilled = rec.state == MIGRATE_UNFILLED;
	migrate_record_clear(&rec);
	return unfilled;
}

/* The kernel gives each inode a generation by chance, e2fsprogs none. */
static bool is_made_offline(int root_fd)
{
	int fd = openat(root_fd, MIGRATE_LOST_FOUND,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	unsigned generation = 1;
	bool made = fd >= 0 && ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 && !generation;

	if (fd >= 0)
		close(fd);
	return made;
}

gboolean lost_found_leaves(struct retriever *retriever, GError **error)
{
	int root_fd = retriever->root_fd, ret;

	if (retriever->private_fd < 0 || !is_unfilled(root_fd) || !is_made_offline(root_fd))
		return TRUE;
	ret = lost_found_remove(root_fd);
	if (ret == -ENOTEMPTY)
		ret = aside_put(retriever, root_fd, MIGRATE_LOST_FOUND, "", MIGRATE_LOST_FOUND);
	if (ret)
		g_set_error(error, RETRIEVER_ERROR, 0,
			    "[volume %s] root: %s/" MIGRATE_LOST_FOUND
			    " was made by e2fsck, and hides the old server's: it cannot be "
			    "removed: %s%s",
			    retriever->config->name, retriever->config->root, g_strerror(-ret),
			    advice_for(ret));
	return !ret;
}
