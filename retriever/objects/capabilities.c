/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/capabilities.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record.h"
#include "lib/base/advice.h"
#include "lib/base/lease.h"
#include "lib/source/posix_acl.h"

#define USE	 "use ext4, xfs or btrfs"
#define SIZE	 (1 << 20)
#define TURNS	 5
#define QUICK_US 2000
/* One character to readers: of one code point, of two, and in upper case. */
#define COMPOSED   "\u00e9"
#define DECOMPOSED "e\u0301"
#define UPPER	   "\u00c9"

struct probe {
	int root; /* O_RDONLY | O_DIRECTORY */
	int dir;
	int fd; /* a file that has the name "file", O_RDWR; or -errno: there is none */
};

static int errno_result(int ret)
{
	return ret < 0 ? -errno : 0;
}

/* Whether it is the file system that cannot, and not a full disk or the like. */
static bool is_lacking(int error)
{
	return error == -EOPNOTSUPP || error == -EINVAL || error == -ENOSYS || error == -ENOTTY ||
	       error == -EISDIR;
}

/* A kill may have left either as a directory. */
static void clean_probe(const struct probe *p)
{
	static const char *const names[] = {"file", "other", COMPOSED};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
		if (unlinkat(p->dir, names[i], 0) < 0)
			unlinkat(p->dir, names[i], AT_REMOVEDIR);
}

static int open_probe(struct probe *p, const char *name, int how)
{
	p->fd = openat(p->dir, name, how | O_RDWR | O_CLOEXEC, 0600);
	if (p->fd < 0)
		p->fd = -errno;
	return MIN(p->fd, 0);
}

static int make_nameless(struct probe *p)
{
	int ret = open_probe(p, ".", O_TMPFILE);

	return ret ? ret : errno_result(linkat(p->fd, "", p->dir, "file", AT_EMPTY_PATH));
}

static int make_staged(struct probe *p)
{
	int ret = open_probe(p, "other", O_CREAT | O_EXCL);

	return ret ? ret
		   : errno_result(renameat2(p->dir, "other", p->dir, "file", RENAME_NOREPLACE));
}

/*
 * ZFS has them, but linkat(2) of one waits for the disk: 3 a second, and 148 made with a name.
 * The quickest of several counts, and they take turns, so that a disk that stands still, or is slow
 * with both, does not.
 */
static int compare_nameless(struct probe *p)
{
	gint64 least[2] = {G_MAXINT64, G_MAXINT64};

	for (unsigned i = 0; i < 2 * TURNS; i++) {
		const bool staged = i % 2;
		gint64 time;
		int ret;

		if (i) {
			close(p->fd);
			p->fd = -EBADF;
			if (unlinkat(p->dir, "file", 0) < 0)
				return -errno;
		}
		time = g_get_monotonic_time();
		ret = staged ? make_staged(p) : make_nameless(p);
		if (ret)
			return ret;
		least[staged] = MIN(least[staged], g_get_monotonic_time() - time);
		if (least[0] <= QUICK_US)
			return 0;
	}
	return least[0] > 10 * least[1] ? -EOPNOTSUPP : 0;
}

/* The file that the other rows try: with or without this, it has its name afterwards. */
static int try_nameless(struct probe *p)
{
	int ret = compare_nameless(p);

	if (!ret)
		return 0;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = ret;
	clean_probe(p);
	if (is_lacking(ret))
		open_probe(p, "file", O_CREAT | O_EXCL);
	return ret;
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

/* A handle that is the inode's number alone is that of a later inode, too (I9).  Not that of the
 * root: its generation may be 0. */
static int try_generation(struct probe *p)
{
	struct migrate_binding binding;
	uint64_t number = 0;
	struct stat st;
	int ret = migrate_binding_get(p->fd, "", &binding);

	if (ret || fstat(p->fd, &st) < 0)
		return ret ? ret : -errno;
	if (binding.len > sizeof(number))
		return 0;
	memcpy(&number, binding.bytes, binding.len);
	return number == st.st_ino ? -EOPNOTSUPP : 0;
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

/* Else what a client was told to be durable has a record that calls it missing, after a power cut;
 * or a stub has no record.  What others write meanwhile may hide it, but hardly every time. */
static int try_durable_records(struct probe *p)
{
	uint64_t before, after;
	int ret = 0;

	for (char value = 0; !ret && value < TURNS; value++) {
		if (fsync(p->fd) < 0)
			return -errno;
		ret = migrate_log_count(p->fd, &before);
		if (ret <= 0)
			return ret;
		if (fsetxattr(p->fd, MIGRATE_XATTR, &value, 1, 0) < 0 || fsync(p->fd) < 0)
			return -errno;
		ret = migrate_log_count(p->fd, &after);
		ret = ret < 0 ? ret : after == before ? -EOPNOTSUPP : 0;
	}
	return ret ? ret : errno_result(fremovexattr(p->fd, MIGRATE_XATTR));
}

/* Onto a free name, too: the kernel itself refuses one that is there (CephFS). */
static int try_noreplace(struct probe *p)
{
	if (mkdirat(p->dir, "other", 0700) < 0)
		return -errno;
	if (renameat2(p->dir, "file", p->dir, "other", RENAME_NOREPLACE) == 0)
		return -EINVAL;
	if (errno != EEXIST || unlinkat(p->dir, "other", AT_REMOVEDIR) < 0 ||
	    renameat2(p->dir, "file", p->dir, "other", RENAME_NOREPLACE) < 0)
		return -errno;
	return errno_result(renameat2(p->dir, "other", p->dir, "file", RENAME_NOREPLACE));
}

static int try_exchange(struct probe *p)
{
	if (mkdirat(p->dir, "other", 0700) < 0)
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

/* ZFS with compression makes a hole of each of its blocks that is all zeros.  It is always taken
 * to: compression may be chosen later, or may have been until now; and its disk may be full. */
static int try_zeros(struct probe *p)
{
	static const char zeros[64 << 10];
	uint64_t count;
	int fd, ret = migrate_log_count(p->root, &count);
	off_t data;

	if (ret)
		return ret > 0 ? -EOPNOTSUPP : ret;
	fd = openat(p->dir, "other", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write(fd, zeros, sizeof(zeros)) == sizeof(zeros) ? 0 : -EIO;
	data = ret ? 0 : lseek(fd, 0, SEEK_DATA);
	if (data != 0)
		ret = data < 0 && errno != ENXIO ? -errno : -EOPNOTSUPP;
	close(fd);
	return ret ? ret : errno_result(unlinkat(p->dir, "other", 0));
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

static int try_data(struct probe *p)
{
	return migrate_tells_data(p->root) ? 0 : -EOPNOTSUPP;
}

static int try_order(struct probe *p)
{
	return migrate_keeps_order(p->root) ? 0 : -EOPNOTSUPP;
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

static int try_leases(struct probe *p)
{
	struct lease lease;
	int ret = lease_take(&lease, p->fd);

	return ret == -EBUSY ? 0 : ret ? ret : errno_result(fcntl(p->fd, F_SETLEASE, F_UNLCK));
}

static int try_acls(struct probe *p)
{
	return fgetxattr(p->fd, XATTR_ACL_ACCESS, NULL, 0) < 0 && errno != ENODATA ? -errno : 0;
}

static int try_user_xattrs(struct probe *p)
{
	return fgetxattr(p->fd, "user.migrate", NULL, 0) < 0 && errno != ENODATA ? -errno : 0;
}

static int try_birth(struct probe *p)
{
	struct statx st;

	if (statx(p->root, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0)
		return -errno;
	return st.stx_mask & STATX_BTIME ? 0 : -EOPNOTSUPP;
}

static int try_fine_times(struct probe *p)
{
	const struct timespec times[2] = {{1, 123456789}, {1, 123456789}};
	struct stat st;

	if (futimens(p->fd, times) < 0 || fstat(p->fd, &st) < 0)
		return -errno;
	return st.st_mtim.tv_nsec == times[1].tv_nsec ? 0 : -EOPNOTSUPP;
}

static int try_projects(struct probe *p)
{
	struct fsxattr attr;

	return errno_result(ioctl(p->root, FS_IOC_FSGETXATTR, &attr));
}

static int try_flags(struct probe *p)
{
	int flags;

	return errno_result(ioctl(p->root, FS_IOC_GETFLAGS, &flags));
}

static int try_clones(struct probe *p)
{
	int fd = openat(p->dir, "other", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600), ret;

	if (fd < 0)
		return -errno;
	ret = errno_result(ioctl(fd, FICLONE, p->fd));
	close(fd);
	return ret ? ret : errno_result(unlinkat(p->dir, "other", 0));
}

/*
 * In this order: what is left when this is cut short is known by the mark, and the file is that of
 * all others.  Those who use one are named beside it.
 */
static const struct row {
	const char *key;
	int (*try)(struct probe *p);
	const char *what;
	const char *way;  /* what is done without it; NULL: it is refused */
	const char *cure; /* then: what to do */
	bool looks;	  /* and writes nothing */
} rows[CAPABILITIES] = {
	/* migrate_binding_get(): records, objects, requests, the journal */
	[CAPABILITY_BINDING] = {"handles", try_binding, "file handles (name_to_handle_at)",
				.cure = USE, .looks = true},
	/* private_open() */
	[CAPABILITY_MARKS] = {"directory-attributes", try_private_mark,
			      "security.* extended attributes of directories", .cure = USE},
	/* nameless.h, scratch_file.h */
	[CAPABILITY_NAMELESS] =
		{"nameless-files", try_nameless,
		 "files that get their name last, without a wait (O_TMPFILE, linkat)",
		 "they are made in .migrate/staging and renamed"},
	[CAPABILITY_GENERATION] = {"handle-generations", try_generation,
				   "file handles that no later inode gets (a generation)",
				   .cure = USE},
	[CAPABILITY_HANDLES] = {"open-handles", try_handles, "file handles (open_by_handle_at)",
				.cure = USE},
	/* record.h */
	[CAPABILITY_RECORDS] = {"file-attributes", try_xattrs,
				"security.* extended attributes of " G_STRINGIFY(
					MIGRATE_REC_MAX) " bytes",
				.cure = USE ", with blocks of 4096 bytes"},
	/* durability.h, make.h */
	[CAPABILITY_DURABLE_RECORDS] =
		{"durable-attributes", try_durable_records,
		 "an fsync that makes extended attributes durable, or does not tell "
		 "(zil_itx_count)",
		 .cure = "on ZFS, of OpenZFS 2.2.4 or later: zfs set xattr=sa sync=standard, and "
			 "the "
			 "pool's feature zilsaxattr"},
	/* all that gives an object its name: make.h, aside.h, prior.h, skip_file.h */
	[CAPABILITY_NOREPLACE] = {"noreplace", try_noreplace,
				  "renames that replace nothing (renameat2, RENAME_NOREPLACE)",
				  .cure = USE},
	/* make.h, apart.h: an object in the place of another one, in one step */
	[CAPABILITY_EXCHANGE] = {"exchange", try_exchange,
				 "renames that exchange two names (renameat2, RENAME_EXCHANGE)",
				 .cure = USE},
	/* links.h */
	[CAPABILITY_LINKS] = {"hard-links", try_links, "hard links", .cure = USE},
	/* one_name.h, the doors */
	[CAPABILITY_NAMES] =
		{"distinct-names", try_names,
		 "names that differ in case, or in Unicode normalization, alone",
		 .cure = "let the root be a directory that tells them apart (ext4: without chattr "
			 "+F, which goes while it is empty; xfs: made without -n version=ci; ZFS: "
			 "made with "
			 "casesensitivity=sensitive and normalization=none)"},
	/* create.h */
	[CAPABILITY_SYMLINKS] = {"symbolic-links", try_symbolic_links, "symbolic links",
				 .cure = USE},
	[CAPABILITY_SPECIAL] = {"special-files", try_special, "FIFOs, sockets and device nodes",
				.cure = "let migrate-retriever make them (CAP_MKNOD, device "
					"policy)"},
	/* private.h, turns.h, the doors */
	[CAPABILITY_LOCKS] = {"directory-locks", try_locks, "locks of directories (flock)",
			      .cure = USE},
	/* bracket.h, dirty.h, sparse.h, snapshot.h: dropped pages are told from written ones */
	[CAPABILITY_HOLES] = {"holes", try_holes, "holes in files (SEEK_DATA)",
			      "what clients write to missing parts is durable before its answer"},
	/* apart.c, the way back: what it leaves out would be copied as zeros */
	[CAPABILITY_DATA] = {"told-data", try_data, "a SEEK_DATA that leaves no data out",
			     .cure = "use OpenZFS 2.2.4 or later", .looks = true},
	/* dirty.h, snapshot.h */
	[CAPABILITY_ZEROS] = {"written-zeros", try_zeros,
			      "zeros that stay data when they are written (no compression of them)",
			      "a hole in what clients wrote is none of a failed disk"},
	/* attributes.h */
	[CAPABILITY_ATTRIBUTES] = {"attributes", try_attributes,
				   "owners, modes and times that can be set",
				   .cure = USE ", mounted here and not over a network"},
	/* record_io.h: what of a record counts after a crash */
	[CAPABILITY_EPOCH] = {"mount-epoch", try_epoch,
			      "a way to tell one mount of it from the next (/sys/fs, /proc/spl)",
			      .cure = "mount sysfs on /sys, and " USE, .looks = true},
	/* finish.c, place.c */
	[CAPABILITY_ORDER] = {"ordered-changes", try_order,
			      "changes that a power cut undoes in their order",
			      "a directory's record is synced before what depends on it",
			      .looks = true},
	/* damage.h */
	[CAPABILITY_SOUND] = {"no-errors", try_damage, "a check since it found errors in itself",
			      .cure = "unmount it, run e2fsck -f and mount it again",
			      .looks = true},
	/* mend.h */
	[CAPABILITY_LEASES] = {"leases", try_leases, "leases (F_SETLEASE)",
			       "verify --mend writes no content"},
	/* attributes.h: each is a loss of its object, and grants nobody more */
	[CAPABILITY_ACLS] = {"posix-acls", try_acls, "POSIX ACLs",
			     "they are losses, and the mode grants nobody more"},
	[CAPABILITY_USER_XATTRS] = {"user-attributes", try_user_xattrs,
				    "user.* extended attributes", "they are losses"},
	[CAPABILITY_FINE_TIMES] = {"fine-times", try_fine_times, "times of a nanosecond",
				   "they are cut, which is a loss of the volume"},
	/* clients.h, leftover.h, links.h, removal.h */
	[CAPABILITY_BIRTH] = {"birth-times", try_birth, "times of birth",
			      "what may be a client's counts as one", .looks = true},
	/* project.h */
	[CAPABILITY_PROJECTS] = {"projects", try_projects, "project ids",
				 "no directory hands one on", .looks = true},
	/* flags.h, retention.h */
	[CAPABILITY_FLAGS] = {"flags", try_flags, "flags (chattr)",
			      "what retention makes immutable is a loss", .looks = true},
	/* apart.h */
	[CAPABILITY_CLONES] = {"clones", try_clones, "clones (FICLONE)", "bytes are copied"},
};

enum pass { PASS_ALL, PASS_LOOK, PASS_WAYS };

static bool is_in_pass(const struct row *row, enum pass pass)
{
	return pass == PASS_ALL || (pass == PASS_LOOK ? row->looks : row->way != NULL);
}

static int try_rows(struct probe *p, enum pass pass, struct capabilities *found, char **message)
{
	for (unsigned i = 0; i < CAPABILITIES; i++) {
		const struct row *row = &rows[i];
		const int ret = is_in_pass(row, pass) ? row->try(p) : 0;

		if (!is_in_pass(row, pass))
			continue;
		if (!ret || is_lacking(ret))
			found->tried |= 1u << i;
		if (is_lacking(ret))
			found->lacking |= 1u << i;
		if (ret && pass != PASS_WAYS && (!row->way || p->fd < 0)) {
			const int error = row->way ? p->fd : ret;

			*message = g_strdup_printf("the file system lacks %s: %s: %s", row->what,
						   g_strerror(-error), row->cure ? row->cure : USE);
			return error;
		}
	}
	return 0;
}

int capabilities_look(int root_fd, struct capabilities *found, char **message)
{
	struct probe p = {.root = root_fd, .dir = root_fd, .fd = root_fd};

	*found = (struct capabilities){0};
	return try_rows(&p, PASS_LOOK, found, message);
}

/* In p->dir, where nothing is left of it. */
static int try_in(struct probe *p, enum pass pass, struct capabilities *found, char **message)
{
	int ret;

	*found = (struct capabilities){0};
	clean_probe(p);
	ret = try_rows(p, pass, found, message);
	if (p->fd >= 0)
		close(p->fd);
	clean_probe(p);
	return ret;
}

int capabilities_try(int root_fd, char **message)
{
	struct probe p = {.root = root_fd, .dir = -1, .fd = -1};
	struct capabilities found;
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
	ret = try_in(&p, PASS_ALL, &found, message);
	close(p.dir);
	unlinkat(root_fd, MIGRATE_PRIVATE_DIR, AT_REMOVEDIR); /* unless there is more in it */
	return ret;
}

void capabilities_find(int root_fd, int staging_fd, struct capabilities *found)
{
	struct probe p = {.root = root_fd, .dir = staging_fd, .fd = -1};
	g_autofree char *message = NULL;

	try_in(&p, PASS_WAYS, found, &message); /* on a full disk, what needs no file */
	for (unsigned i = 0; i < CAPABILITIES; i++)
		if (!rows[i].way) /* or there were no volume */
			found->tried |= 1u << i;
}

bool capabilities_has(const struct capabilities *found, enum capability which)
{
	return !(found->lacking & 1u << which);
}

const char *capability_key(enum capability which)
{
	return rows[which].key;
}

const char *capability_text(enum capability which)
{
	return rows[which].what;
}

const char *capability_way(enum capability which)
{
	return rows[which].way;
}
