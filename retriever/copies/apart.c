/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "lib/base/filetree.h"
#include "lib/report/omissions.h"
#include "retriever/objects/jobs.h"

#define TIMES 3 /* that a file which is being written is copied */

struct apart {
	struct retriever *retriever;
	GHashTable *names; /* inode number -> how many names of it are in the tree */
	int dir_fd;
	char *name;
	int ret;
};

/* ---- a copy ---- */

static int copy_data(int from, int to, off_t size)
{
	off_t at = 0, end;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while (at < size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		for (off_t out = at; at < end;) {
			ssize_t n = copy_file_range(from, &at, to, &out, (size_t)(end - at), 0);

			if (n <= 0)
				return n < 0 ? -errno : -EIO;
		}
	}
	if (at < 0 && errno != ENXIO) /* nothing but holes up to its end */
		return -errno;
	return ftruncate(to, size) < 0 ? -errno : 0;
}

static int copy_xattrs(int from, int to)
{
	g_autofree char *names = g_malloc(XATTR_LIST_MAX), *value = g_malloc(XATTR_SIZE_MAX);
	ssize_t len = flistxattr(from, names, XATTR_LIST_MAX);

	if (len < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		ssize_t size;

		if (!xattr_is_carried(name))
			continue;
		size = fgetxattr(from, name, value, XATTR_SIZE_MAX);
		if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) < 0)
			return -errno;
	}
	return 0;
}

static bool is_as_it_was(int fd, const struct stat *st)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_ino == st->st_ino && now.st_size == st->st_size &&
	       migrate_ns(now.st_mtim) == migrate_ns(st->st_mtim) &&
	       migrate_ns(now.st_ctim) == migrate_ns(st->st_ctim);
}

static int give_attributes(int dir_fd, const char *name, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};

	if (fchownat(dir_fd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISLNK(st->st_mode) && fchmodat(dir_fd, name, st->st_mode & 07777, 0) < 0) ||
	    utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

/* -EAGAIN: it was being changed. */
static int copy_file(const struct own_entry *entry, int staging, const char *as)
{
	int from = openat(entry->dir_fd, entry->name,
			  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	int to = from < 0 ? -1 : openat(staging, as, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	int ret = to < 0 || fstat(from, &st) < 0 ? -errno : 0;

	if (!ret && st.st_ino != entry->st->st_ino)
		ret = -ENOENT;
	if (!ret)
		ret = copy_data(from, to, st.st_size);
	if (!ret)
		ret = give_attributes(staging, as, &st);
	if (!ret)
		ret = copy_xattrs(from, to);
	if (!ret && fsync(to) < 0)
		ret = -errno;
	if (!ret && !is_as_it_was(from, &st))
		ret = -EAGAIN;
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return ret;
}

static int copy_node(const struct own_entry *entry, int staging, const char *as)
{
	g_autofree char *target = NULL;
	ssize_t len;

	if (!S_ISLNK(entry->st->st_mode))
		return mknodat(staging, as, entry->st->st_mode, entry->st->st_rdev) < 0
			       ? -errno
			       : give_attributes(staging, as, entry->st);
	target = g_malloc0(PATH_MAX);
	len = readlinkat(entry->dir_fd, entry->name, target, PATH_MAX - 1);
	if (len < 0 || symlinkat(target, staging, as) < 0)
		return -errno;
	return give_attributes(staging, as, entry->st);
}

/* ---- in its place ---- */

/* The copy, and the link where it has got its place, are removed.  Nothing where the name is
 * another's, or gone, by now. */
static int put_in_place(const struct own_entry *entry, int staging, const char *as)
{
	struct stat st;
	int ret = renameat2(staging, as, entry->dir_fd, entry->name, RENAME_EXCHANGE) < 0 ? -errno
											  : 0;

	if (!ret &&
	    (fstatat(staging, as, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	     st.st_ino != entry->st->st_ino) &&
	    renameat2(staging, as, entry->dir_fd, entry->name, RENAME_EXCHANGE) < 0)
		return -errno; /* whatever it is, it is nobody's to destroy */
	unlinkat(staging, as, 0);
	return ret == -ENOENT ? 0 : ret;
}

static int part(const struct apart *apart, const struct own_entry *entry)
{
	const int staging = apart->retriever->staging_fd;
	g_autofree char *as = g_strdup_printf("apart-%u", g_random_int());
	int ret = -EAGAIN;

	for (unsigned n = 0; n < TIMES && ret == -EAGAIN; n++) {
		ret = S_ISREG(entry->st->st_mode) ? copy_file(entry, staging, as)
						  : copy_node(entry, staging, as);
		if (ret)
			unlinkat(staging, as, 0);
	}
	return ret ? ret : put_in_place(entry, staging, as);
}

static bool is_linked(const struct own_entry *entry)
{
	return !S_ISDIR(entry->st->st_mode) && entry->st->st_nlink > 1;
}

static int count_linked_name(void *arg, const struct own_entry *entry)
{
	struct apart *apart = arg;
	gint64 inode = (gint64)entry->st->st_ino;
	guint names = GPOINTER_TO_UINT(g_hash_table_lookup(apart->names, &inode));

	if (is_linked(entry))
		g_hash_table_insert(apart->names, g_memdup2(&inode, sizeof(inode)),
				    GUINT_TO_POINTER(names + 1));
	return 0;
}

static int part_one(void *arg, const struct own_entry *entry)
{
	struct apart *apart = arg;
	gint64 inode = (gint64)entry->st->st_ino;
	guint names = GPOINTER_TO_UINT(g_hash_table_lookup(apart->names, &inode));
	int ret;

	if (!is_linked(entry) || names >= entry->st->st_nlink)
		return 0;
	ret = part(apart, entry);
	if (!ret)
		g_hash_table_insert(apart->names, g_memdup2(&inode, sizeof(inode)),
				    GUINT_TO_POINTER(names - 1));
	if (ret && ret != -ENOENT) {
		apart->ret = ret;
		g_message("%s/aside/.../%s: %s: it is a link of a file of the tree still",
			  MIGRATE_PRIVATE_DIR, entry->name, g_strerror(-ret));
	}
	return 0;
}

int apart_make(struct retriever *retriever, int dir_fd, const char *name)
{
	struct apart apart = {.retriever = retriever};
	int ret;

	apart.names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	ret = own_walk(dir_fd, name, count_linked_name, &apart);
	if (!ret && g_hash_table_size(apart.names))
		ret = own_walk(dir_fd, name, part_one, &apart);
	g_hash_table_unref(apart.names);
	return ret ? ret : apart.ret;
}

static void run_apart(void *arg)
{
	struct apart *apart = arg;

	apart_make(apart->retriever, apart->dir_fd, apart->name);
	close(apart->dir_fd);
	g_free(apart->name);
	g_free(apart);
}

void apart_start(struct retriever *retriever, int dir_fd, const char *name)
{
	struct apart *apart = g_new0(struct apart, 1);

	apart->retriever = retriever;
	apart->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	apart->name = g_strdup(name);
	jobs_run(retriever->jobs, JOB_SLOW, run_apart, apart);
}
