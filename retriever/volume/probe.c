/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/volume/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "lib/base/advice.h"

#define USE  "use ext4, xfs or btrfs"
#define SIZE (1 << 20)
/* One character to readers: of one code point, of two, and in upper case. */
#define COMPOSED   "\u00e9"
#define DECOMPOSED "e\u0301"
#define UPPER	   "\u00c9"

struct probe {
	int root; /* O_RDONLY | O_DIRECTORY */
	int dir;
	int fd; /* a file that has the name "file", O_RDWR */
};

static int errno_result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int try_temporary(struct probe *p)
{
	p->fd = openat(p->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return p->fd < 0 ? -errno : errno_result(linkat(p->fd, "", p->dir, "file", AT_EMPTY_PATH));
}

static int try_binding(struct probe *p)
{
	struct migrate_binding binding;

	return migrate_binding_get(p->root, "", &binding);
}

static int try_handles(struct probe *p)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MIGRATE_BINDING_MAX];
	} u;
	struct migrate_binding binding;
	struct stat a, b;
	int fd, ret = migrate_binding_get(p->fd, "", &binding);

	if (ret)
		return ret;
	u.handle.handle_bytes = binding.len;
	u.handle.handle_type = binding.type;
	memcpy(u.handle.f_handle, binding.bytes, binding.len);
	fd = open_by_handle_at(p->root, &u.handle, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fstat(p->fd, &a) < 0 || fstat(fd, &b) < 0 ? -errno : 0;
	close(fd);
	return ret || a.st_ino == b.st_ino ? ret : -ESTALE;
}

static int try_xattrs(struct probe *p)
{
	char value[MIGRATE_REC_MAX], back[MIGRATE_REC_MAX];

	memset(value, 'x', sizeof value);
	if (fsetxattr(p->fd, MIGRATE_XATTR, value, sizeof value, 0) < 0)
		return -errno;
	if (fgetxattr(p->fd, MIGRATE_XATTR, back, sizeof back) != sizeof back ||
	    memcmp(value, back, sizeof back) != 0)
		return -EIO;
	return errno_result(fremovexattr(p->fd, MIGRATE_XATTR));
}

static int try_private_mark(struct probe *p)
{
	int ret = migrate_private_mark(p->dir);

	return ret || migrate_private_is_marked(p->dir) ? ret : -EIO;
}

static int try_renames(struct probe *p)
{
	if (mkdirat(p->dir, "other", 0700) < 0)
		return -errno;
	if (renameat2(p->dir, "file", p->dir, "other", RENAME_NOREPLACE) == 0)
		return -EINVAL;
	if (errno != EEXIST)
		return -errno;
	/* there and back, a file and a directory */
	for (int i = 0; i < 2; i++)
		if (renameat2(p->dir, "file", p->dir, "other", RENAME_EXCHANGE) < 0)
			return -errno;
	return errno_result(unlinkat(p->dir, "other", AT_REMOVEDIR));
}

static int try_links(struct probe *p)
{
	if (linkat(p->dir, "file", p->dir, "other", 0) < 0)
		return -errno;
	return errno_result(unlinkat(p->dir, "other", 0));
}

static bool is_also(int dir, const char *name, const char *other)
{
	struct stat a, b;

	return fstatat(dir, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(dir, other, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino;
}

/* Of two names of the old server's that are one here, one would never come.  Directories inherit it
 * from the root. */
static int try_names(struct probe *p)
{
	bool folds = is_also(p->root, MIGRATE_PRIVATE_DIR, ".MIGRATE") ||
		     is_also(p->dir, "file", "FILE");

	if (linkat(p->dir, "file", p->dir, COMPOSED, 0) < 0)
		return -errno;
	folds = folds || is_also(p->dir, COMPOSED, DECOMPOSED) || is_also(p->dir, COMPOSED, UPPER);
	return folds ? -EOPNOTSUPP : errno_result(unlinkat(p->dir, COMPOSED, 0));
}

static int try_symbolic_links(struct probe *p)
{
	if (symlinkat("file", p->dir, "other") < 0)
		return -errno;
	return errno_result(unlinkat(p->dir, "other", 0));
}

static int try_special(struct probe *p)
{
	static const mode_t types[] = {S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};

	for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
		if (mknodat(p->dir, "other", types[i] | 0600, makedev(1, 3)) < 0 ||
		    unlinkat(p->dir, "other", 0) < 0)
			return -errno;
	return 0;
}

static int try_locks(struct probe *p)
{
	int fds[2] = {-1, -1}, ret = errno_result(mkdirat(p->dir, "other", 0700));

	for (int i = 0; i < 2 && !ret; i++) {
		fds[i] = openat(p->dir, "other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = fds[i] < 0 ? -errno : i ? 0 : errno_result(flock(fds[0], LOCK_EX | LOCK_NB));
	}
	if (!ret && flock(fds[1], LOCK_EX | LOCK_NB) == 0)
		ret = -ENOLCK;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return ret ? ret : errno_result(unlinkat(p->dir, "other", AT_REMOVEDIR));
}

/* A stub has its size and takes no space; what is there is told from what is not. */
static int try_holes(struct probe *p)
{
	struct stat st;

	if (ftruncate(p->fd, SIZE) < 0 || pwrite(p->fd, "x", 1, SIZE / 2) != 1 ||
	    fstat(p->fd, &st) < 0)
		return -errno;
	if (st.st_size != SIZE || st.st_blocks * 512 >= SIZE)
		return -EOPNOTSUPP;
	if (lseek(p->fd, 0, SEEK_DATA) < 0)
		return -errno;
	return lseek(p->fd, 0, SEEK_DATA) > 0 && lseek(p->fd, SIZE / 2, SEEK_HOLE) < SIZE
		       ? 0
		       : -EOPNOTSUPP;
}

/* Owners, modes and times as they were on the old server; what is cut from times is reported. */
static int try_attributes(struct probe *p)
{
	const struct timespec times[2] = {{1, 0}, {86400, 0}};
	struct stat st;

	if (fchown(p->fd, 65533, 65532) < 0 || fchmod(p->fd, 06751) < 0 ||
	    futimens(p->fd, times) < 0 || fstat(p->fd, &st) < 0)
		return -errno;
	return st.st_uid == 65533 && st.st_gid == 65532 && (st.st_mode & 07777) == 06751 &&
			       st.st_mtim.tv_sec == 86400
		       ? 0
		       : -EOPNOTSUPP;
}

static int try_epoch(struct probe *p)
{
	uint8_t epoch[MIGRATE_EPOCH_LEN];

	return migrate_mount_epoch(p->fd, epoch) ? 0 : -EOPNOTSUPP;
}

/* One that goes on in spite of errors (damage.h). */
static int try_damage(struct probe *p)
{
	int fd = migrate_mount_errors(p->fd);
	bool damaged = migrate_errors_counted(fd);

	if (fd >= 0)
		close(fd);
	return damaged ? -EUCLEAN : 0;
}

/* In this order: what is left when this is cut short is known by the mark, and the file is that of
 * all others. */
static const struct {
	int (*try)(struct probe *p);
	const char *what, *cure;
	bool looks; /* and writes nothing */
} probes[] = {
	{try_private_mark, "security.* extended attributes of directories", USE},
	{try_temporary, "files that get their name last (O_TMPFILE, linkat)", USE},
	{try_binding, "file handles (name_to_handle_at)", USE, true},
	{try_handles, "file handles (open_by_handle_at)", USE},
	{try_xattrs, "security.* extended attributes of " G_STRINGIFY(MIGRATE_REC_MAX) " bytes",
	 USE ", with blocks of 4096 bytes"},
	{try_renames, "renames that replace nothing or exchange two names (renameat2)", USE},
	{try_links, "hard links", USE},
	{try_names, "names that differ in case, or in Unicode normalization, alone",
	 "let the root be a directory that tells them apart (ext4: without chattr +F, which goes "
	 "while it is empty; xfs: made without -n version=ci)"},
	{try_symbolic_links, "symbolic links", USE},
	{try_special, "FIFOs, sockets and device nodes",
	 "let migrate-retriever make them (CAP_MKNOD, device policy)"},
	{try_locks, "locks of directories (flock)", USE},
	{try_holes, "holes in files (SEEK_DATA)", USE},
	{try_attributes, "owners, modes and times that can be set",
	 USE ", mounted here and not over a network"},
	{try_epoch, "a way to tell one mount of it from the next (/sys/fs)",
	 "mount sysfs on /sys, and " USE, true},
	{try_damage, "a check since it found errors in itself",
	 "unmount it, run e2fsck -f and mount it again", true},
};

static int try_all(struct probe *p, bool look, char **message)
{
	int ret = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(probes) && !ret; i++) {
		ret = look && !probes[i].looks ? 0 : probes[i].try(p);
		if (ret)
			*message =
				g_strdup_printf("the file system lacks %s: %s: %s", probes[i].what,
						g_strerror(-ret), probes[i].cure);
	}
	return ret;
}

/* A kill may have left either as a directory. */
static void clean_probe(const struct probe *p)
{
	static const char *const names[] = {"file", "other", COMPOSED};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (unlinkat(p->dir, names[i], 0) < 0)
			unlinkat(p->dir, names[i], AT_REMOVEDIR);
}

int probe_look(int root_fd, char **message)
{
	struct probe p = {.root = root_fd, .dir = root_fd, .fd = root_fd};

	return try_all(&p, true, message);
}

int probe_file_system(int root_fd, char **message)
{
	struct probe p = {.root = root_fd, .dir = -1, .fd = -1};
	int ret = errno_result(mkdirat(root_fd, MIGRATE_PRIVATE_DIR, S_ISVTX | 0700));

	if (!ret || ret == -EEXIST) {
		p.dir = openat(root_fd, MIGRATE_PRIVATE_DIR,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		ret = errno_result(p.dir);
	}
	if (ret) {
		*message = g_strdup_printf("no directory can be made: %s%s", g_strerror(-ret),
					   advice_for(ret));
		return ret;
	}
	clean_probe(&p);
	ret = try_all(&p, false, message);
	if (p.fd >= 0)
		close(p.fd);
	clean_probe(&p);
	close(p.dir);
	unlinkat(root_fd, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR); /* unless there is more in it */
	return ret;
}
