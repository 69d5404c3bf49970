/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By a file system that is mounted here: every step is below its root, by openat2(2). */
#include "ctl/rollback/old.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "ctl/rollback/old_ops.h"
#include "lib/base/lease.h"
#include "lib/base/project.h"
#include "lib/source/backend.h"
#include "lib/source/posix_acl.h"

#define DIRS_MAX 256

struct mount {
	struct old old;
	int root;
	GHashTable *dirs; /* open directories by path, as long as none is moved */
	int stage;	  /* OLD_STAGE, from old_begin() on, or -1: for several threads */
	bool nfs;
	bool local; /* its leases count */
	bool btrfs;
	dev_t dev;
	uint64_t fs; /* migrate_fs_number() */
};

struct mount_file {
	struct old_file file;
	int fd;
	bool written;
	int reading; /* of the same file, where fd is O_PATH; or -1 */
	struct lease lease;
	bool alone; /* it has that */
};

static struct mount *mount_of(const struct old *old)
{
	return (struct mount *)old;
}

static int open_below(const struct old *old, const char *path, int flags)
{
	return migrate_open_below(mount_of(old)->root, path, flags | O_NOFOLLOW,
				  RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
}

static void forget(struct old *old)
{
	g_hash_table_remove_all(mount_of(old)->dirs);
}

static void close_directory(gpointer fd)
{
	close(GPOINTER_TO_INT(fd));
}

static int open_stage(struct old *old)
{
	struct mount *mount = mount_of(old);

	if (mount->stage >= 0)
		return mount->stage;
	int fd = open_below(old, OLD_STAGE, O_PATH | O_DIRECTORY);
	mount->stage = MAX(fd, -1);
	return fd;
}

static void close_stage(struct mount *mount)
{
	if (mount->stage >= 0)
		close(mount->stage);
	mount->stage = -1;
}

/* The directory of the path, which stays old's, until the next call; *name: in it. */
static int parent_of(struct old *old, const char *path, const char **name)
{
	GHashTable *dirs = mount_of(old)->dirs;
	const char *slash = strrchr(path, '/');
	g_autofree char *dir = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

	*name = slash ? slash + 1 : path;
	if (!**name || !strcmp(*name, ".") || !strcmp(*name, ".."))
		return -EINVAL;
	if (!strcmp(dir, OLD_STAGE))
		return open_stage(old);
	gpointer known = g_hash_table_lookup(dirs, dir);
	if (known)
		return GPOINTER_TO_INT(known);
	if (g_hash_table_size(dirs) >= DIRS_MAX)
		forget(old);
	int fd = open_below(old, dir, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		g_hash_table_insert(dirs, g_steal_pointer(&dir), GINT_TO_POINTER(fd));
	return fd;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A descriptor of what is there, with O_PATH a symbolic link itself; or -errno. */
static int find(struct old *old, const char *path, int flags)
{
	const char *name;

	if (!*path)
		return open_below(old, path, flags);
	int dir = parent_of(old, path, &name);
	return dir < 0 ? dir : migrate_open_below(dir, name, flags | O_NOFOLLOW, RESOLVE_NO_XDEV);
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

/* An NFS client remembers names, also those that were not there, for up to a minute, and does not
 * ask again for AT_STATX_FORCE_SYNC: unless it sees that their directory has changed. */
static int look_again(int dir)
{
	struct statx stx;

	return statx(dir, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME | STATX_CTIME,
		     &stx) < 0
		       ? -errno
		       : 0;
}

/* The subvolumes of a btrfs have the same numbers: as the source tells them apart. */
static uint64_t number_of_mount(const struct mount *mount, int fd, uint64_t ino, dev_t dev)
{
	return mount->btrfs && dev != mount->dev
		       ? backend_fileid(ino, migrate_fs_number(fd, dev), mount->fs)
		       : ino;
}

static uint64_t number_at(const struct mount *mount, int dir, const char *name,
			  const struct stat *st)
{
	int fd = *name && mount->btrfs && st->st_dev != mount->dev
			 ? openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
			 : dir;
	const uint64_t number = number_of_mount(mount, fd, st->st_ino, st->st_dev);

	if (fd != dir && fd >= 0)
		close(fd);
	return number;
}

/* name: "" for the descriptor's own. */
static int stat_at(const struct mount *mount, int dir, const char *name, struct stat *st)
{
	const int flags =
		AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
	struct statx stx;

	if (statx(dir, name, flags, STATX_BASIC_STATS, &stx) < 0)
		return -errno;
	if (*name && (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return -EXDEV;
	*st = (struct stat){.st_ino = stx.stx_ino,
			    .st_mode = stx.stx_mode,
			    .st_nlink = stx.stx_nlink,
			    .st_uid = stx.stx_uid,
			    .st_gid = stx.stx_gid,
			    .st_size = (off_t)stx.stx_size,
			    .st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
			    .st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
			    .st_atim = time_of(&stx.stx_atime),
			    .st_mtim = time_of(&stx.stx_mtime),
			    .st_ctim = time_of(&stx.stx_ctime)};
	st->st_ino = number_at(mount, dir, name, st);
	return 0;
}

static int mount_stat(struct old *old, const char *path, struct stat *st)
{
	const char *name = "";
	int dir = *path ? parent_of(old, path, &name) : mount_of(old)->root;
	/* nobody else is in OLD_STAGE */
	int ret = dir < 0 ? dir : *path && dir != mount_of(old)->stage ? look_again(dir) : 0;

	return ret ? ret : stat_at(mount_of(old), dir, name, st);
}

static char *mount_read_link(struct old *old, const char *path, int *ret)
{
	const char *name;
	char text[PATH_MAX];
	const int dir = parent_of(old, path, &name);
	const ssize_t len = dir < 0 ? dir : readlinkat(dir, name, text, sizeof(text));

	*ret = dir < 0 ? dir : len < 0 ? -errno : 0;
	return *ret ? NULL : g_strndup(text, (gsize)len);
}

static GBytes *mount_read_xattr(struct old *old, const char *path, const char *name, int *ret)
{
	const int fd = find(old, path, O_PATH);
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	GBytes *value = fd < 0 ? NULL : attrs_read_xattr(link, name);

	*ret = fd < 0 ? fd : value || errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return value;
}

/* A subvolume is listed with another number than it has. */
static uint64_t number_listed(const struct mount *mount, int dir, const struct dirent *entry)
{
	struct stat st;

	if (!mount->btrfs)
		return entry->d_ino;
	if (entry->d_type == DT_DIR)
		return stat_at(mount, dir, entry->d_name, &st) ? entry->d_ino : st.st_ino;
	return fstat(dir, &st) < 0 ? entry->d_ino
				   : number_of_mount(mount, dir, entry->d_ino, st.st_dev);
}

static int mount_list(struct old *old, const char *path, GHashTable *names)
{
	int fd = open_below(old, path, O_RDONLY | O_DIRECTORY | O_NOATIME);
	int ret = fd < 0 ? fd : look_again(fd);
	DIR *dir = ret ? NULL : fdopendir(fd);
	const struct dirent *entry;

	ret = ret ? ret : -errno;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return ret;
	}
	while ((errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			old_add_name(names, entry->d_name, number_listed(mount_of(old), fd, entry));
	ret = -errno;
	closedir(dir);
	return ret;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int mount_mkdir(struct old *old, const char *path)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(mkdirat(dir, name, 0700));
}

static struct old_file *file_of(struct old *old, int fd)
{
	struct mount_file *opened = g_new0(struct mount_file, 1);

	opened->file.old = old;
	opened->fd = fd;
	opened->reading = -1;
	return &opened->file;
}

static int mount_create(struct old *old, const char *path, struct old_file **file)
{
	const char *name;
	int dir = parent_of(old, path, &name);
	int fd = dir < 0 ? dir
			 : openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  0600);

	if (fd < 0)
		return dir < 0 ? dir : -errno;
	if (file)
		*file = file_of(old, fd);
	else
		close(fd);
	return 0;
}

static int mount_symlink(struct old *old, const char *target, const char *path)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(symlinkat(target, dir, name));
}

static int mount_mknod(struct old *old, const char *path, mode_t mode, dev_t device)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(mknodat(dir, name, (mode & S_IFMT) | 0600, device));
}

/* Both directories of two paths, which stay old's, until the next call. */
static int both(struct old *old, const char *from, const char *to, int *from_dir,
		const char **from_name, const char **to_name)
{
	/* so that the second one pushes no other out */
	if (g_hash_table_size(mount_of(old)->dirs) + 2 > DIRS_MAX)
		forget(old);
	*from_dir = parent_of(old, from, from_name);
	return *from_dir < 0 ? *from_dir : parent_of(old, to, to_name);
}

static int mount_link(struct old *old, const char *from, const char *to)
{
	const char *from_name, *to_name;
	int from_dir, dir = both(old, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	return result(linkat(from_dir, from_name, dir, to_name, 0));
}

static int mount_rename(struct old *old, const char *from, const char *to, bool directory)
{
	const char *from_name, *to_name;
	int from_dir, dir = both(old, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = project_rename(from_dir, from_name, dir, to_name, 0);
	if (directory)
		forget(old);
	return ret;
}

/* What a file system, or an NFS client, says that has no such step. */
static bool cannot(int ret)
{
	return ret == -EINVAL || ret == -ENOSYS || ret == -EOPNOTSUPP || ret == -EPERM ||
	       ret == -EMLINK || ret == -EXDEV;
}

static int mount_rename_new(struct old *old, const char *from, const char *to, bool directory)
{
	const char *from_name, *to_name;
	int from_dir, dir = both(old, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = project_rename(from_dir, from_name, dir, to_name, RENAME_NOREPLACE);
	if (cannot(ret) && !directory) {
		ret = result(linkat(from_dir, from_name, dir, to_name, 0));
		if (!ret)
			return result(unlinkat(from_dir, from_name, 0));
	}
	if (cannot(ret))
		return mount_rename(old, from, to, directory);
	if (directory)
		forget(old);
	return ret;
}

/* By names in OLD_STAGE and at the place. */
static int exchange(int stage, const char *from, int dir, const char *to, const char *out)
{
	int ret = project_rename(stage, from, dir, to, RENAME_EXCHANGE);

	if (ret)
		return ret;
	ret = result(renameat2(stage, from, stage, out, RENAME_NOREPLACE));
	if (ret)
		renameat2(stage, from, dir, to, RENAME_EXCHANGE);
	return ret;
}

static int mount_replace(struct old *old, const char *from, const char *to, const char *out)
{
	const char *from_name, *to_name, *out_name = strrchr(out, '/') + 1;
	int stage, dir = both(old, from, to, &stage, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = exchange(stage, from_name, dir, to_name, out_name);
	if (!cannot(ret))
		return ret;
	ret = result(linkat(dir, to_name, stage, out_name, 0));
	const bool kept = !ret;
	if (!ret || cannot(ret))
		ret = project_rename(stage, from_name, dir, to_name, 0);
	if (ret && kept)
		unlinkat(stage, out_name, 0);
	return ret;
}

static int mount_remove(struct old *old, const char *path, bool directory)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	if (dir < 0)
		return dir;
	int ret = result(unlinkat(dir, name, directory ? AT_REMOVEDIR : 0));
	if (directory)
		forget(old);
	if (!ret && !strcmp(path, OLD_STAGE))
		close_stage(mount_of(old));
	return ret;
}

/* It may have been there, or hand on a default ACL.  What cannot be set shows in what it has then:
 * FAT has neither owners nor modes. */
static int mount_protect(struct old *old)
{
	int fd = open_below(old, OLD_STAGE, O_RDONLY | O_DIRECTORY);
	struct statx stx;
	int ret = fd < 0 ? fd : 0;

	if (ret)
		return ret;
	const int refused = (fchown(fd, geteuid(), (gid_t)-1) < 0) + (fchmod(fd, 0700) < 0) +
			    (fremovexattr(fd, XATTR_ACL_DEFAULT) < 0 && errno != ENODATA);
	if (refused)
		g_debug("%s: " OLD_STAGE ": %d refused", old->where, refused);
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx) < 0)
		ret = -errno;
	else if (stx.stx_uid != geteuid())
		ret = -EPERM;
	else if (stx.stx_mode & 077)
		g_message("%s: the old server keeps no modes: others may read what is carried in "
			  "its directory " OLD_STAGE,
			  old->where);
	close(fd);
	return ret;
}

/* An NFS server may take root for nobody, who may be allowed to make files. */
static int mount_owns(struct old *old, const char *path)
{
	const char *name;
	struct stat st;
	int dir = parent_of(old, path, &name);

	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return st.st_uid == geteuid()
		       ? 0
		       : result(fchownat(dir, name, geteuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW));
}

static int mount_sync(struct old *old)
{
	const int ret = result(syncfs(mount_of(old)->root));

	/* the error of any file, which was that file's (mount_give()); names are durable at once */
	return mount_of(old)->nfs ? 0 : ret;
}

/* A lease for reading is given where nobody has it open to write (fcntl(2)); what nfsd keeps open
 * of its own it closes then.  A network's file system knows of this machine alone. */
static bool mount_is_open(struct old *old, const char *path)
{
	int fd = mount_of(old)->local ? find(old, path, O_RDONLY | O_NONBLOCK | O_NOATIME) : -1;
	bool open = fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;

	if (fd >= 0)
		close(fd);
	return open;
}

/* ---- giving ---------------------------------------------------------------------------------- */

static int fd_of(const struct old_file *file)
{
	return ((const struct mount_file *)file)->fd;
}

static int mount_open(struct old *old, const char *path, bool data, struct old_file **file)
{
	const bool alone = data && mount_of(old)->local;
	int fd = alone && mount_is_open(old, path) ? -EAGAIN
						   : find(old, path, data ? O_RDWR : O_PATH);
	struct mount_file *opened;

	if (fd < 0)
		return fd;
	*file = file_of(old, fd);
	opened = (struct mount_file *)*file;
	/* there is none while somebody reads it, as an NFS server does */
	opened->alone = alone && !lease_take(&opened->lease, fd);
	return 0;
}

static void mount_close_file(struct old_file *file)
{
	const int reading = ((struct mount_file *)file)->reading;

	if (reading >= 0)
		close(reading);
	close(fd_of(file));
	g_free(file);
}

static int mount_stat_file(struct old_file *file, struct stat *st)
{
	struct mount_file *opened = (struct mount_file *)file;

	if (opened->alone && !lease_holds(&opened->lease, 1))
		return -EBUSY;
	return stat_at(mount_of(file->old), fd_of(file), "", st);
}

static int mount_resize(struct old_file *file, off_t size)
{
	struct stat st;

	/* to truncate what is empty makes ext4 write at once when it is closed */
	if (!size && !fstat(fd_of(file), &st) && !st.st_size)
		return 0;
	return result(ftruncate(fd_of(file), size));
}

static ssize_t mount_read(struct old_file *file, void *data, size_t len, off_t at)
{
	struct mount_file *opened = (struct mount_file *)file;
	ssize_t got = pread(opened->reading < 0 ? opened->fd : opened->reading, data, len, at);

	if (got >= 0 || errno != EBADF)
		return got < 0 ? -errno : got;
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", opened->fd);
	opened->reading = open(path, O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	if (opened->reading < 0)
		return -errno;
	got = pread(opened->reading, data, len, at);
	return got < 0 ? -errno : got;
}

static int mount_write(struct old_file *file, const void *data, size_t len, off_t at)
{
	((struct mount_file *)file)->written = true;
	while (len) {
		ssize_t done = pwrite(fd_of(file), data, len, at);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (!done)
			return -EIO;
		if (done > 0) {
			data = (const char *)data + done;
			at += done;
			len -= (size_t)done;
		}
	}
	return 0;
}

static int mount_sync_file(struct old_file *file)
{
	return result(fsync(fd_of(file)));
}

static int mount_give(struct old_file *file, const struct attrs *attrs,
		      const struct volume_config *config, attrs_lost_fn lost, void *arg)
{
	const struct mount_file *given = (const struct mount_file *)file;
	int ret = 0;

	/* An NFS client tells of a quota or a full disk afterwards, and whose file that was here
	 * alone.  It writes before it changes an owner anyway. */
	if (mount_of(file->old)->nfs && given->written)
		ret = mount_sync_file(file);
	return ret ? ret : attrs_give(given->fd, attrs, config, lost, arg);
}

static int mount_give_times(struct old_file *file, const struct attrs *attrs)
{
	return attrs_give_times(fd_of(file), attrs);
}

/* What is there and cannot be read may be anything. */
static bool mount_holds_more(struct old *old, const char *path, const struct attrs *attrs)
{
	int fd = find(old, path, O_RDONLY | O_NOATIME | O_NONBLOCK);
	bool more = fd < 0 || attrs_holds_more(fd, attrs);

	if (fd >= 0)
		close(fd);
	return more;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void mount_close(struct old *old)
{
	struct mount *mount = mount_of(old);

	g_hash_table_unref(mount->dirs);
	close_stage(mount);
	close(mount->root);
	g_free(old->where);
	g_free(mount);
}

static const struct old_ops mount_ops = {
	.several = true,
	.cannot_write = "mount it with write rights for root of this host (of an NFS server: "
			"rw,no_root_squash)",
	.close = mount_close,
	.protect = mount_protect,
	.owns = mount_owns,
	.holds_more = mount_holds_more,
	.is_open = mount_is_open,
	.read_xattr = mount_read_xattr,
	.stat = mount_stat,
	.read_link = mount_read_link,
	.list = mount_list,
	.mkdir = mount_mkdir,
	.create = mount_create,
	.symlink = mount_symlink,
	.mknod = mount_mknod,
	.link = mount_link,
	.rename = mount_rename,
	.rename_new = mount_rename_new,
	.replace = mount_replace,
	.remove = mount_remove,
	.sync = mount_sync,
	.open = mount_open,
	.close_file = mount_close_file,
	.stat_file = mount_stat_file,
	.resize = mount_resize,
	.read = mount_read,
	.write = mount_write,
	.sync_file = mount_sync_file,
	.give = mount_give,
	.give_times = mount_give_times,
};

static bool is_local(int fd)
{
	static const int64_t local[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
					TMPFS_MAGIC};
	struct statfs fs;

	for (size_t i = 0; i < G_N_ELEMENTS(local) && !fstatfs(fd, &fs); i++)
		if (fs.f_type == local[i])
			return true;
	return false;
}

struct old *old_open(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "%s: %s; mount the old server's tree there, with the rights to write",
			    path, g_strerror(errno));
		return NULL;
	}
	struct mount *mount = g_new0(struct mount, 1);
	mount->old.ops = &mount_ops;
	mount->old.where = g_strdup(path);
	mount->root = fd;
	mount->local = is_local(fd);
	mount->stage = -1;
	mount->nfs = !fstatfs(fd, &fs) && fs.f_type == NFS_SUPER_MAGIC;
	mount->btrfs = !fstatfs(fd, &fs) && fs.f_type == BTRFS_SUPER_MAGIC;
	if (mount->btrfs && !fstat(fd, &st)) {
		mount->dev = st.st_dev;
		mount->fs = migrate_fs_number(fd, st.st_dev);
	}
	mount->dirs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_directory);
	return &mount->old;
}
