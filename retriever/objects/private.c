/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/advice.h"
#include "lib/base/error.h"
#include "lib/base/filetree.h"
#include "lib/base/project.h"
#include "lib/source/posix_acl.h"
#include "retriever/objects/capabilities.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/links.h"

#define ROOT_HOLD_S 1

/* mode: to make it with, where it is not there; 0: not. */
static int open_subdirectory(int dir, const char *name, mode_t mode)
{
	int fd;

	if (mode && mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* what is made in it must not inherit what it inherited */
	fremovexattr(fd, XATTR_ACL_DEFAULT);
	project_stop(fd);
	return fd;
}

/*
 * .migrate/, locked, or -errno.  One without the mark is a client's, -ENOENT, unless it is to be
 * made: then no client could make one.
 */
static int lock_private(const struct retriever *retriever, bool create)
{
	struct stat st;
	int fd, ret = 0;

	if (!create && !migrate_has_private(retriever->root_fd))
		return -ENOENT;
	fd = open_subdirectory(retriever->root_fd, MIGRATE_PRIVATE_DIR,
			       create ? PRIVATE_ATTACHING : 0);
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		ret = -EBUSY;
	else if (fstat(fd, &st) < 0 || !st.st_nlink) /* who held it finalized the volume */
		ret = -ENOENT;
	else if (!migrate_private_is_marked(fd))
		ret = create ? migrate_private_mark(fd) : -ENOENT;
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

int private_open(struct retriever *retriever, bool create)
{
	int fd, links, staging;

	if (retriever->private_fd >= 0) /* an attach was cut short */
		return 0;
	fd = lock_private(retriever, create);
	if (fd < 0)
		return fd;
	if (faccessat(fd, PRIVATE_ABANDONED, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		close(fd);
		return -ECANCELED;
	}
	own_remove(fd, "staging"); /* what a crash left there */
	links = open_subdirectory(fd, MIGRATE_LINKS_DIR, 0700);
	staging = open_subdirectory(fd, "staging", 0700);
	if (links < 0 || staging < 0) {
		close_fd(staging);
		close_fd(links);
		close(fd);
		return MIN(links, staging);
	}
	/* before anybody sees that there is a volume */
	capabilities_find(retriever->root_fd, staging, &retriever->capabilities);
	retriever->private_fd = fd;
	retriever->links_fd = links;
	retriever->staging_fd = staging;
	links_load(retriever);
	close_fd(retriever->root_hold);
	retriever->root_hold = -1;
	return 0;
}

int private_set_attached(struct retriever *retriever)
{
	return fchmod(retriever->private_fd, PRIVATE_ATTACHING & 0777) < 0 ? -errno : 0;
}

bool private_is_attached(const struct retriever *retriever)
{
	struct stat st;

	return retriever->private_fd >= 0 && fstat(retriever->private_fd, &st) == 0 &&
	       !(st.st_mode & S_ISVTX);
}

static void set_busy(struct retriever *retriever, GError **error)
{
	g_set_error(error, RETRIEVER_ERROR, 0,
		    "[volume %s] root: %s: another migrate-retriever serves this volume: stop it",
		    retriever->config->name, retriever->config->root);
}

/*
 * Makes sure that a volume has one retriever: it locks .migrate/, and the root itself as long as
 * there is no .migrate/.  Doors lock the root too when an object is placed there, and until the
 * retriever answers.
 */
static int lock_root(struct retriever *retriever)
{
	const struct timespec deadline = migrate_in_ms(ROOT_HOLD_S * 1000);

	retriever->root_hold =
		migrate_lock_directory(retriever->root_fd, MIGRATE_HOLD_ALONE, &deadline);
	return retriever->root_hold < 0 ? -EBUSY : private_open(retriever, false);
}

/* If there is no .migrate/, the root is not a volume yet, or not any more.  But if the root has a
 * record, .migrate/ was lost, and is made again; the handles are found again by path. */
static bool open_or_remake(struct retriever *retriever, GError **error)
{
	struct migrate_record rec;
	int ret = private_open(retriever, false), record;

	if (ret == -ENOENT)
		ret = lock_root(retriever);
	record = migrate_record_load(retriever->root_fd, &rec);
	if (record == 1)
		migrate_record_clear(&rec);
	if (ret == -ENOENT && record == 1)
		ret = private_open(retriever, true);
	else if (ret == -ENOENT) /* a damaged one: everything else of the volume is told so */
		ret = record == -EBADMSG ? 0 : record;
	if (!ret && record && retriever->private_fd >= 0)
		private_set_attached(retriever);
	if (ret == -EBUSY)
		set_busy(retriever, error);
	else if (ret == -ECANCELED)
		error_set(error, EKEYREJECTED,
			  "[volume %s] root: %s: its migration is being abandoned: give migratectl "
			  "abandon %s again",
			  retriever->config->name, retriever->config->root,
			  retriever->config->name);
	else if (ret < 0)
		g_set_error(error, RETRIEVER_ERROR, 0, "[volume %s] root: %s/%s: %s%s",
			    retriever->config->name, retriever->config->root, MIGRATE_PRIVATE_DIR,
			    g_strerror(-ret), advice_for(ret));
	return ret >= 0;
}

/* .migrate/ where the volume holds a copy and is not attached, locked; -1: it does not; -errno. */
static int open_volume_of_copy(const struct retriever *retriever)
{
	int fd;

	if (migrate_has_record(retriever->root_fd) || !migrate_is_attaching(retriever->root_fd))
		return -1;
	fd = lock_private(retriever, false);
	if (fd >= 0 && faccessat(fd, COPY_DIR, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		close(fd);
		return -1;
	}
	return fd == -ENOENT ? -1 : fd;
}

/* The copy's root takes the place of the volume's.  0 or -errno. */
static int enter_copy(struct retriever *retriever)
{
	struct volume_config *config = retriever->config;
	int fd = open_volume_of_copy(retriever), root;
	char *path;

	if (fd < 0)
		return fd == -1 ? 0 : fd;
	root = openat(fd, COPY_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0) {
		close(fd);
		return -errno;
	}
	path = g_build_filename(config->root, MIGRATE_PRIVATE_DIR, COPY_DIR, NULL);
	g_free(config->root);
	config->root = path;
	close(retriever->root_fd);
	retriever->root_fd = root;
	retriever->volume_fd = fd;
	retriever->copying = true;
	return 0;
}

bool private_open_root(struct retriever *retriever, GError **error)
{
	const struct volume_config *config = retriever->config;
	int ret;

	retriever->root_fd = open(config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (retriever->root_fd < 0) {
		g_set_error(error, RETRIEVER_ERROR, 0, "[volume %s] root: %s: %s: mount or make it",
			    config->name, config->root, g_strerror(errno));
		return false;
	}
	ret = enter_copy(retriever);
	if (ret == -EBUSY)
		set_busy(retriever, error);
	else if (ret)
		g_set_error(error, RETRIEVER_ERROR, 0, "[volume %s] root: %s/%s: %s%s",
			    config->name, config->root, MIGRATE_PRIVATE_DIR, g_strerror(-ret),
			    advice_for(ret));
	if (ret)
		return false;
	if (migrate_binding_get(retriever->root_fd, "", &retriever->root_key) < 0) {
		g_set_error(error, RETRIEVER_ERROR, 0,
			    "[volume %s] root: %s: this file system has no file handles: use ext4, "
			    "xfs or btrfs",
			    config->name, config->root);
		return false;
	}
	damage_watch(retriever);
	if (!migrate_mount_epoch(retriever->root_fd, retriever->epoch))
		g_warning(
			"%s: one mount of this file system cannot be told from the next (no "
			"/sys or /proc, a dataset of ZFS that was renamed since it was mounted, or "
			"neither ext4, xfs, btrfs nor ZFS): what clients have not committed "
			"when migrate-retriever is killed is lost",
			config->root);
	return open_or_remake(retriever, error);
}

bool private_root_is_replaced(const struct retriever *retriever)
{
	struct stat open, named;

	return fstat(retriever->root_fd, &open) < 0 || stat(retriever->config->root, &named) < 0 ||
	       open.st_dev != named.st_dev || open.st_ino != named.st_ino;
}

void private_leave(struct retriever *retriever)
{
	g_mutex_lock(&retriever->save_lock);
	retriever->finished_fds[0] = atomic_exchange(&retriever->private_fd, -1);
	retriever->finished_fds[1] = atomic_exchange(&retriever->links_fd, -1);
	retriever->finished_fds[2] = atomic_exchange(&retriever->staging_fd, -1);
	g_mutex_unlock(&retriever->save_lock);
}

void private_close(struct retriever *retriever)
{
	close_fd(retriever->staging_fd);
	close_fd(retriever->links_fd);
	close_fd(retriever->private_fd);
	close_fd(retriever->root_hold);
	for (size_t i = 0; i < G_N_ELEMENTS(retriever->finished_fds); i++)
		if (retriever->finished_fds[i])
			close_fd(retriever->finished_fds[i]);
	close_fd(retriever->root_fd);
	close_fd(retriever->volume_fd);
	damage_forget(retriever);
}
