/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The old server's tree as a file system that is mounted here: every step is below its root, by
 * openat2(2). */
#include "ctl/rollback/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "common/migrate.h"
#include "ctl/rollback/target_ops.h"
#include "lib/base/lease.h"
#include "lib/base/project.h"
#include "lib/source/backend.h"
#include "lib/source/posix_acl.h"

#define DIRS_MAX 256

struct mount {
	struct target target;
	int root;
	GHashTable *dirs; /* open directories by path, as long as none is moved */
	int stage;	  /* TARGET_STAGE, from target_begin() on, or -1: for several threads */
	bool nfs;
	bool local; /* its leases count */
	bool btrfs;
	dev_t dev;
	uint64_t fs; /* migrate_fs_number() */
};

struct mount_file {
	struct target_file file;
	int fd;
	bool written;
	int reading; /* of the same file, where fd is O_PATH; or -1 */
	struct lease lease;
	bool alone; /* it has that */
};

static struct mount *mount_of(const struct target *target)
{
	return (struct mount *)target;
}

static int open_below(const struct target *target, const char *path, int flags)
{
	return migrate_open_below(mount_of(target)->root, path, flags | O_NOFOLLOW,
				  RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
}

static void forget(struct target *target)
{
	g_hash_table_remove_all(mount_of(target)->dirs);
}

static void close_directory(gpointer fd)
{
	close(GPOINTER_TO_INT(fd));
}

static int open_stage(struct target *target)
{
	struct mount *mount = mount_of(target);

	if (mount->stage >= 0)
		return mount->stage;
	int fd = open_below(target, TARGET_STAGE, O_PATH | O_DIRECTORY);
	mount->stage = MAX(fd, -1);
	return fd;
}

static void close_stage(struct mount *mount)
{
	if (mount->stage >= 0)
		close(mount->stage);
	mount->stage = -1;
}

/* A descriptor of the path's directory, which stays target's and is valid until the next call;
 * *name: the name in it. */
static int parent_of(struct target *target, const char *path, const char **name)
{
	GHashTable *dirs = mount_of(target)->dirs;
	const char *slash = strrchr(path, '/');
	g_autofree char *dir = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

	*name = slash ? slash + 1 : path;
	if (!**name || !strcmp(*name, ".") || !strcmp(*name, ".."))
		return -EINVAL;
	if (!strcmp(dir, TARGET_STAGE))
		return open_stage(target);
	gpointer known = g_hash_table_lookup(dirs, dir);
	if (known)
		return GPOINTER_TO_INT(known);
	if (g_hash_table_size(dirs) >= DIRS_MAX)
		forget(target);
	int fd = open_below(target, dir, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		g_hash_table_insert(dirs, g_steal_pointer(&dir), GINT_TO_POINTER(fd));
	return fd;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* A descriptor of the object, with O_PATH of a symbolic link itself; or -errno. */
static int find(struct target *target, const char *path, int flags)
{
	const char *name;

	if (!*path)
		return open_below(target, path, flags);
	int dir = parent_of(target, path, &name);
	return dir < 0 ? dir : migrate_open_below(dir, name, flags | O_NOFOLLOW, RESOLVE_NO_XDEV);
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

/* An NFS client remembers names, also names that were not there, for up to a minute, and even with
 * AT_STATX_FORCE_SYNC does not ask again, unless it sees that the directory has changed. */
static int look_again(int dir)
{
	struct statx stx;

	return statx(dir, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME | STATX_CTIME,
		     &stx) < 0
		       ? -errno
		       : 0;
}

/* The subvolumes of a btrfs have the same inode numbers: tells them apart as the source does. */
static uint64_t mount_fileid(const struct mount *mount, int fd, uint64_t ino, dev_t dev)
{
	return mount->btrfs && dev != mount->dev
		       ? backend_fileid(ino, migrate_fs_number(fd, dev), mount->fs)
		       : ino;
}

static uint64_t fileid_at(const struct mount *mount, int dir, const char *name,
			  const struct stat *st)
{
	int fd = *name && mount->btrfs && st->st_dev != mount->dev
			 ? openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
			 : dir;
	const uint64_t number = mount_fileid(mount, fd, st->st_ino, st->st_dev);

	if (fd != dir && fd >= 0)
		close(fd);
	return number;
}

/* name: "" for the object of the descriptor itself. */
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
	st->st_ino = fileid_at(mount, dir, name, st);
	return 0;
}

static int mount_stat(struct target *target, const char *path, struct stat *st)
{
	const char *name = "";
	int dir = *path ? parent_of(target, path, &name) : mount_of(target)->root;
	/* nobody else is in TARGET_STAGE */
	int ret = dir < 0 ? dir : *path && dir != mount_of(target)->stage ? look_again(dir) : 0;

	return ret ? ret : stat_at(mount_of(target), dir, name, st);
}

static char *mount_read_link(struct target *target, const char *path, int *ret)
{
	const char *name;
	char text[PATH_MAX];
	const int dir = parent_of(target, path, &name);
	const ssize_t len = dir < 0 ? dir : readlinkat(dir, name, text, sizeof(text));

	*ret = dir < 0 ? dir : len < 0 ? -errno : 0;
	return *ret ? NULL : g_strndup(text, (gsize)len);
}

static GBytes *mount_read_xattr(struct target *target, const char *path, const char *name, int *ret)
{
	const int fd = find(target, path, O_PATH);
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	GBytes *value = fd < 0 ? NULL : attrs_read_xattr(link, name);

	*ret = fd < 0 ? fd : value || errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return value;
}

/* A subvolume is listed with another number than it has. */
static uint64_t fileid_listed(const struct mount *mount, int dir, const struct dirent *entry)
{
	struct stat st;

	if (!mount->btrfs)
		return entry->d_ino;
	if (entry->d_type == DT_DIR)
		return stat_at(mount, dir, entry->d_name, &st) ? entry->d_ino : st.st_ino;
	return fstat(dir, &st) < 0 ? entry->d_ino
				   : mount_fileid(mount, dir, entry->d_ino, st.st_dev);
}

static int mount_list(struct target *target, const char *path, GHashTable *names)
{
	int fd = open_below(target, path, O_RDONLY | O_DIRECTORY | O_NOATIME);
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
			target_add_name(names, entry->d_name,
					fileid_listed(mount_of(target), fd, entry));
	ret = -errno;
	closedir(dir);
	return ret;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int errno_result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int mount_mkdir(struct target *target, const char *path)
{
	const char *name;
	int dir = parent_of(target, path, &name);

	return dir < 0 ? dir : errno_result(mkdirat(dir, name, 0700));
}

static struct target_file *file_of(struct target *target, int fd)
{
	struct mount_file *opened = g_new0(struct mount_file, 1);

	opened->file.target = target;
	opened->fd = fd;
	opened->reading = -1;
	return &opened->file;
}

static int mount_create(struct target *target, const char *path, struct target_file **file)
{
	const char *name;
	int dir = parent_of(target, path, &name);
	int fd = dir < 0 ? dir
			 : openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  0600);

	if (fd < 0)
		return dir < 0 ? dir : -errno;
	if (file)
		*file = file_of(target, fd);
	else
		close(fd);
	return 0;
}

static int mount_symlink(struct target *target, const char *text, const char *path)
{
	const char *name;
	int dir = parent_of(target, path, &name);

	return dir < 0 ? dir : errno_result(symlinkat(text, dir, name));
}

static int mount_mknod(struct target *target, const char *path, mode_t mode, dev_t device)
{
	const char *name;
	int dir = parent_of(target, path, &name);

	return dir < 0 ? dir : errno_result(mknodat(dir, name, (mode & S_IFMT) | 0600, device));
}

/* Descriptors of the directories of two paths, which stay target's and are valid until the next
 * call. */
static int open_parents(struct target *target, const char *from, const char *to, int *from_dir,
			const char **from_name, const char **to_name)
{
	/* so that the second one pushes no other out */
	if (g_hash_table_size(mount_of(target)->dirs) + 2 > DIRS_MAX)
		forget(target);
	*from_dir = parent_of(target, from, from_name);
	return *from_dir < 0 ? *from_dir : parent_of(target, to, to_name);
}

static int mount_link(struct target *target, const char *from, const char *to)
{
	const char *from_name, *to_name;
	int from_dir, dir = open_parents(target, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	return errno_result(linkat(from_dir, from_name, dir, to_name, 0));
}

static int mount_rename(struct target *target, const char *from, const char *to, bool directory)
{
	const char *from_name, *to_name;
	int from_dir, dir = open_parents(target, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = project_rename(from_dir, from_name, dir, to_name, 0);
	if (directory)
		forget(target);
	return ret;
}

/* Whether a file system, or an NFS client, said that it has no such step. */
static bool is_unsupported(int ret)
{
	return ret == -EINVAL || ret == -ENOSYS || ret == -EOPNOTSUPP || ret == -EPERM ||
	       ret == -EMLINK || ret == -EXDEV;
}

static int mount_rename_new(struct target *target, const char *from, const char *to, bool directory)
{
	const char *from_name, *to_name;
	int from_dir, dir = open_parents(target, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = project_rename(from_dir, from_name, dir, to_name, RENAME_NOREPLACE);
	if (is_unsupported(ret) && !directory) {
		ret = errno_result(linkat(from_dir, from_name, dir, to_name, 0));
		if (!ret)
			return errno_result(unlinkat(from_dir, from_name, 0));
	}
	if (is_unsupported(ret))
		return mount_rename(target, from, to, directory);
	if (directory)
		forget(target);
	return ret;
}

/* Exchanges two objects: one in TARGET_STAGE and one at its place. */
static int exchange(int stage, const char *from, int dir, const char *to, const char *out)
{
	int ret = project_rename(stage, from, dir, to, RENAME_EXCHANGE);

	if (ret)
		return ret;
	ret = errno_result(renameat2(stage, from, stage, out, RENAME_NOREPLACE));
	if (ret)
		renameat2(stage, from, dir, to, RENAME_EXCHANGE);
	return ret;
}

static int mount_replace(struct target *target, const char *from, const char *to, const char *out)
{
	const char *from_name, *to_name, *out_name = strrchr(out, '/') + 1;
	int stage, dir = open_parents(target, from, to, &stage, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = exchange(stage, from_name, dir, to_name, out_name);
	if (!is_unsupported(ret))
		return ret;
	ret = errno_result(linkat(dir, to_name, stage, out_name, 0));
	const bool kept = !ret;
	if (!ret || is_unsupported(ret))
		ret = project_rename(stage, from_name, dir, to_name, 0);
	if (ret && kept)
		unlinkat(stage, out_name, 0);
	return ret;
}

static int mount_remove(struct target *target, const char *path, bool directory)
{
	const char *name;
	int dir = parent_of(target, path, &name);

	if (dir < 0)
		return dir;
	int ret = errno_result(unlinkat(dir, name, directory ? AT_REMOVEDIR : 0));
	if (directory)
		forget(target);
	if (!ret && !strcmp(path, TARGET_STAGE))
		close_stage(mount_of(target));
	return ret;
}

/* TARGET_STAGE may have been there before, or have got a default ACL.  A right that could not be
 * set shows in the attributes that are read back: FAT has neither owners nor modes. */
static int mount_protect(struct target *target)
{
	int fd = open_below(target, TARGET_STAGE, O_RDONLY | O_DIRECTORY);
	struct statx stx;
	int ret = fd < 0 ? fd : 0;

	if (ret)
		return ret;
	const int refused = (fchown(fd, geteuid(), (gid_t)-1) < 0) + (fchmod(fd, 0700) < 0) +
			    (fremovexattr(fd, XATTR_ACL_DEFAULT) < 0 && errno != ENODATA);
	if (refused)
		g_debug("%s: " TARGET_STAGE ": %d refused", target->where, refused);
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx) < 0)
		ret = -errno;
	else if (stx.stx_uid != geteuid())
		ret = -EPERM;
	else if (stx.stx_mode & 077)
		g_message("%s: the old server keeps no modes: others may read what is carried in "
			  "its directory " TARGET_STAGE,
			  target->where);
	close(fd);
	return ret;
}

/* An NFS server may treat root as the user nobody, and may let that one make files. */
static int mount_owns(struct target *target, const char *path)
{
	const char *name;
	struct stat st;
	int dir = parent_of(target, path, &name);

	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return st.st_uid == geteuid() ? 0
				      : errno_result(fchownat(dir, name, geteuid(), (gid_t)-1,
							      AT_SYMLINK_NOFOLLOW));
}

static int mount_sync(struct target *target)
{
	const int ret = errno_result(syncfs(mount_of(target)->root));

	/* the error may be that of any file, and was told for that file (mount_give()); names are
	 * durable at once */
	return mount_of(target)->nfs ? 0 : ret;
}

/* A lease for reading is given if nobody has the file open to write (fcntl(2)); nfsd then closes
 * what it keeps open of its own.  A network file system knows of this machine alone. */
static bool mount_is_open(struct target *target, const char *path)
{
	int fd = mount_of(target)->local ? find(target, path, O_RDONLY | O_NONBLOCK | O_NOATIME)
					 : -1;
	bool open = fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;

	if (fd >= 0)
		close(fd);
	return open;
}

/* ---- giving ---------------------------------------------------------------------------------- */

static int fd_of(const struct target_file *file)
{
	return ((const struct mount_file *)file)->fd;
}

static int mount_open(struct target *target, const char *path, bool data, struct target_file **file)
{
	const bool alone = data && mount_of(target)->local;
	int fd = alone && mount_is_open(target, path) ? -EAGAIN
						      : find(target, path, data ? O_RDWR : O_PATH);
	struct mount_file *opened;

	if (fd < 0)
		return fd;
	*file = file_of(target, fd);
	opened = (struct mount_file *)*file;
	/* there is no lease while somebody reads the file, as an NFS server does */
	opened->alone = alone && !lease_take(&opened->lease, fd);
	return 0;
}

static void mount_close_file(struct target_file *file)
{
	const int reading = ((struct mount_file *)file)->reading;

	if (reading >= 0)
		close(reading);
	close(fd_of(file));
	g_free(file);
}

static int mount_stat_file(struct target_file *file, struct stat *st)
{
	struct mount_file *opened = (struct mount_file *)file;

	if (opened->alone && !lease_holds(&opened->lease, 1))
		return -EBUSY;
	return stat_at(mount_of(file->target), fd_of(file), "", st);
}

static int mount_resize(struct target_file *file, off_t size)
{
	struct stat st;

	/* truncating an empty file makes ext4 write at once when it is closed */
	if (!size && !fstat(fd_of(file), &st) && !st.st_size)
		return 0;
	return errno_result(ftruncate(fd_of(file), size));
}

static ssize_t mount_read(struct target_file *file, void *data, size_t len, off_t at)
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

static int mount_write(struct target_file *file, const void *data, size_t len, off_t at)
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

static int mount_sync_file(struct target_file *file)
{
	return errno_result(fsync(fd_of(file)));
}

static int mount_give(struct target_file *file, const struct attrs *attrs,
		      const struct volume_config *config, attrs_lost_fn lost, void *arg)
{
	const struct mount_file *given = (const struct mount_file *)file;
	int ret = 0;

	/* An NFS client tells of a quota or a full disk only afterwards, and only here is it known
	 * which file that was.  The client writes before it changes an owner anyway. */
	if (mount_of(file->target)->nfs && given->written)
		ret = mount_sync_file(file);
	return ret ? ret : attrs_give(given->fd, attrs, config, lost, arg);
}

static int mount_give_times(struct target_file *file, const struct attrs *attrs)
{
	return attrs_give_times(fd_of(file), attrs);
}

/* An object that cannot be read may have anything. */
static bool mount_holds_more(struct target *target, const char *path, const struct attrs *attrs)
{
	int fd = find(target, path, O_RDONLY | O_NOATIME | O_NONBLOCK);
	bool more = fd < 0 || attrs_holds_more(fd, attrs);

	if (fd >= 0)
		close(fd);
	return more;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void mount_close(struct target *target)
{
	struct mount *mount = mount_of(target);

	g_hash_table_unref(mount->dirs);
	close_stage(mount);
	close(mount->root);
	g_free(target->where);
	g_free(mount);
}

static const struct target_ops mount_ops = {
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

struct target *target_open(const char *path, GError **error)
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
	if (migrate_has_record(fd) == 1) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s: it is itself being migrated: finalize that migration first", path);
		close(fd);
		return NULL;
	}
	struct mount *mount = g_new0(struct mount, 1);
	mount->target.ops = &mount_ops;
	mount->target.where = g_strdup(path);
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
	return &mount->target;
}
