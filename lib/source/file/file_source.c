/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file:///path: a local or mounted tree.  Objects are found by the kernel's file handles where the
 * tree's file system has handles and this process may use them, and by path below the root
 * otherwise; in submounts always by path.  File systems that are mounted below the root belong to
 * the tree, and those of an automounter are mounted first.  Nothing outside the tree is ever
 * opened, no symbolic link is followed, and only regular files and directories are opened for more
 * than their attributes.
 */
#include "lib/source/file/file_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fs_id.h"
#include "lib/config/url.h"
#include "lib/source/backend.h"
#include "lib/source/file/file_xattr.h"
#include "lib/source/workers.h"

#define FILE_READ_MAX	  (1024u * 1024)
#define DIR_BYTES	  65536
#define DIR_ENTRIES	  4096 /* of a batch, about */
#define THREADS_PER_CONN  4
#define HANDLE_TYPE_BYTES 4
#define KERNEL_HANDLE_MAX (MIGRATE_HANDLE_MAX - HANDLE_TYPE_BYTES)
#define HOLE_MIN	  65536u		/* bytes; smaller ones are read */
#define SETTLED		  (30 * G_USEC_PER_SEC) /* since it was written */

struct file_backend {
	struct backend base;
	int root_fd; /* O_DIRECTORY, not O_PATH: open_by_handle_at wants it so */
	int root_mount;
	dev_t root_dev;
	uint64_t root_fs; /* migrate_fs_number() */
	bool automounter; /* the root is an automounter's */
	bool handles;
	bool nfs4_acls;
	struct backend_workers *workers;
	struct backend_watch watch;
};

struct scratch {
	uint8_t *data;
	dev_t dev;   /* of the object that the request has looked at last */
	uint64_t fs; /* migrate_fs_number() of that device: over NFS it asks the server */
};

union kernel_handle {
	struct file_handle handle;
	uint8_t bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

static int status_of(int err)
{
	switch (err) {
	case 0:
	case ENOENT:
	case ESTALE:
	case EACCES:
	case EPERM:
	case ENOTDIR:
	case EISDIR:
	case ENAMETOOLONG:
		return -err;
	case ELOOP:
		return -ENOTDIR;
	case EXDEV:
		return -EACCES;
	case EMFILE: /* this process's own limits, which pass */
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		return -EAGAIN;
	default:
		return -EREMOTEIO;
	}
}

static int open_as(int dir, const char *path, int flags)
{
	return migrate_open_below(dir, path, O_PATH | O_NOFOLLOW | flags,
				  RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* type: DT_..., as far as it is known.  An open with O_PATH alone makes an automounter mount
 * nothing, so directories are opened with O_DIRECTORY; where the automounter cannot mount, the
 * empty directory that is there is opened. */
static int open_beneath(int dir, const char *path, unsigned char type)
{
	struct stat st;
	int fd = type == DT_DIR ? -1 : open_as(dir, path, 0), mounted;

	if (type == DT_DIR ||
	    (type == DT_UNKNOWN && fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))) {
		mounted = open_as(dir, path, O_DIRECTORY);
		if (mounted >= 0 && fd >= 0)
			close(fd);
		fd = mounted >= 0 ? mounted : fd >= 0 ? fd : open_as(dir, path, 0);
	}
	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

/* Opens a path below the root, of any length.  A descriptor with O_PATH, or -1 with errno. */
static int open_path(const struct file_backend *file, const char *path)
{
	return open_beneath(file->root_fd, path + strspn(path, "/"), DT_UNKNOWN);
}

static int open_handle(const struct file_backend *file, const struct source_object *object)
{
	int32_t type;
	int fd;

	if (!file->handles || object->handle_len <= HANDLE_TYPE_BYTES ||
	    object->handle_len > MIGRATE_HANDLE_MAX) {
		errno = ESTALE;
		return -1;
	}
	memcpy(&type, object->handle, HANDLE_TYPE_BYTES);
	fd = migrate_open_handle(file->root_fd, type, object->handle + HANDLE_TYPE_BYTES,
				 object->handle_len - HANDLE_TYPE_BYTES,
				 O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

static int open_source_object(const struct file_backend *file, const struct source_object *object)
{
	int fd = -1;

	if (object->handle_len > 0)
		fd = open_handle(file, object);
	else if (!object->path)
		errno = ESTALE;
	else if (!source_path_ok(object->path))
		errno = ENOENT;
	else
		fd = open_path(file, object->path);
	return fd;
}

/* Opens for reading what an O_PATH descriptor stands for, without touching its atime. */
static int reopen_to_read(int fd, int flags)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	int opened;

	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, O_RDONLY | O_CLOEXEC | O_NOATIME | O_NONBLOCK | flags);
	if (opened < 0 && errno == EPERM)
		opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
	return opened;
}

/* 1: it has a stub record.  0: it has none.  A status with errno: that cannot be told.  fd: O_PATH
 * or not.  A network file system answers without a round trip. */
static int is_stub(int fd)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

	g_snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (getxattr(path, MIGRATE_XATTR, NULL, 0) >= 0)
		return 1;
	return errno == ENODATA || errno == EOPNOTSUPP ? 0 : status_of(errno);
}

/* 0, or what is to be answered.  What another migration has not brought there, or what was copied
 * past its doors, would be read as zeros or as nothing. */
static int refuse_stub(int fd, struct backend_request *req)
{
	int stub = is_stub(fd);

	if (stub <= 0)
		return stub;
	req->why = QM_STUB_THERE;
	return -EREMOTEIO;
}

/* reopen_to_read() for what req asks for, or what is to be answered. */
static int open_whole(int fd, int flags, struct backend_request *req)
{
	int ret = refuse_stub(fd, req), opened = ret ? ret : reopen_to_read(fd, flags);

	return !ret && opened < 0 ? status_of(errno) : opened;
}

static int get_attr(const struct file_backend *file, int fd, struct source_attr *attr,
		    struct scratch *scratch)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != scratch->dev) {
		scratch->dev = st.st_dev;
		scratch->fs = migrate_fs_number(fd, st.st_dev);
	}
	*attr = (struct source_attr){
		.mode = st.st_mode,
		.nlink = (uint32_t)MAX(st.st_nlink, 1),
		.uid = st.st_uid,
		.gid = st.st_gid,
		.size = (uint64_t)MAX(st.st_size, 0),
		.used = (uint64_t)st.st_blocks * 512,
		.fileid = backend_fileid(st.st_ino, scratch->fs, file->root_fs),
		.rdev = st.st_rdev,
		.ctime = migrate_ns(st.st_ctim),
	};
	attr->atime = source_time(st.st_atim.tv_sec, st.st_atim.tv_nsec, &attr->far_atime);
	attr->mtime = source_time(st.st_mtim.tv_sec, st.st_mtim.tv_nsec, &attr->far_mtime);
	return 0;
}

/* The length of the handle; 0: the object has no handle that can be opened. */
static uint8_t get_handle(const struct file_backend *file, int fd, uint8_t *out)
{
	union kernel_handle kernel;
	int32_t type;
	int mount;

	if (!file->handles)
		return 0;
	kernel.handle.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &kernel.handle, &mount, AT_EMPTY_PATH) < 0 ||
	    mount != file->root_mount || kernel.handle.handle_bytes > KERNEL_HANDLE_MAX)
		return 0;
	type = kernel.handle.handle_type;
	memcpy(out, &type, HANDLE_TYPE_BYTES);
	memcpy(out + HANDLE_TYPE_BYTES, kernel.handle.f_handle, kernel.handle.handle_bytes);
	return (uint8_t)(HANDLE_TYPE_BYTES + kernel.handle.handle_bytes);
}

/* Opens the name of a LOOKUP: a descriptor with O_PATH, or a status. */
static int open_named(int dir, const struct backend_request *req)
{
	int fd = -ENOENT;

	if (req->up)
		fd = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (strlen(req->name) > NAME_MAX)
		return -ENAMETOOLONG;
	else if (source_name_ok(req->name, strlen(req->name)))
		fd = open_beneath(dir, req->name, DT_UNKNOWN);
	return fd == -1 ? status_of(errno) : fd;
}

static int do_lookup(const struct file_backend *file, int dir, struct backend_request *req,
		     struct scratch *scratch)
{
	/* the name may be one that has not come there */
	int fd = req->up ? 0 : refuse_stub(dir, req), ret;

	if (!fd)
		fd = open_named(dir, req);
	if (fd < 0)
		return fd;
	ret = get_attr(file, fd, &req->attr, scratch) < 0 ? status_of(errno) : 0;
	req->handle_len = get_handle(file, fd, req->handle);
	close(fd);
	return ret;
}

static void add_entry(const struct file_backend *file, int dir, const struct dirent64 *found,
		      struct backend_request *req, struct scratch *scratch)
{
	struct source_entry entry = {.attr.fileid = found->d_ino};
	size_t len = strlen(found->d_name);
	int fd = -1;

	if (len <= 2 && memcmp(found->d_name, "..", len) == 0)
		return;
	if (!req->names_only && source_name_ok(found->d_name, len)) {
		fd = open_beneath(dir, found->d_name, found->d_type);
		/* Removed meanwhile. */
		if (fd < 0 && errno == ENOENT)
			return;
	}
	if (fd >= 0) {
		entry.has_attr = get_attr(file, fd, &entry.attr, scratch) == 0;
		entry.handle_len = get_handle(file, fd, entry.handle);
		entry.has_handle = entry.handle_len > 0;
		close(fd);
	}
	backend_batch_add(req->batch, found->d_name, len, &entry);
}

static int list_entries(const struct file_backend *file, int dir, struct backend_request *req,
			struct scratch *scratch)
{
	g_autofree uint8_t *buf = g_malloc(DIR_BYTES);

	if (lseek(dir, (off_t)req->cookie, SEEK_SET) < 0)
		return errno == EINVAL ? -EBADMSG : status_of(errno);
	req->batch = backend_batch_new();
	while (req->batch->entries->len < DIR_ENTRIES) {
		ssize_t n = getdents64(dir, buf, DIR_BYTES);

		if (n < 0)
			return errno == ENOENT ? -ESTALE : status_of(errno);
		if (n == 0) {
			req->eof = true;
			return 0;
		}
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *found = (const void *)(buf + at);

			add_entry(file, dir, found, req, scratch);
			req->cookie = (uint64_t)found->d_off;
			at += found->d_reclen;
		}
	}
	return 0;
}

static bool is_automounter(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == AUTOFS_SUPER_MAGIC;
}

static int do_readdir(const struct file_backend *file, int fd, struct backend_request *req,
		      struct scratch *scratch)
{
	int dir, ret;

	if (!S_ISDIR(req->attr.mode))
		return -ENOTDIR;
	if ((file->automounter || scratch->dev != file->root_dev) && is_automounter(fd)) {
		req->why = QM_AUTOMOUNTER;
		return -EREMOTEIO;
	}
	dir = open_whole(fd, O_DIRECTORY, req);
	if (dir < 0)
		return dir;
	ret = list_entries(file, dir, req, scratch);
	close(dir);
	return ret;
}

static ssize_t read_fully(int fd, uint8_t *data, size_t count, uint64_t offset)
{
	size_t done = 0;

	while (done < count) {
		ssize_t n = pread(fd, data + done, count - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && done == 0)
			return -1;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* How many bytes from the offset on are certainly a hole, at most count.  A file with a block for
 * each byte is not asked; nor is a file that was written just now, as OpenZFS has reported holes
 * where data were not written back yet.  The attributes that are read after this say whether the
 * file is still the one that was listed. */
static uint32_t hole_at(int fd, const struct backend_request *req, uint32_t count)
{
	const struct source_attr *attr = &req->attr;
	uint64_t end = MIN(attr->size, req->offset + count);
	off_t data;

	if (!req->holes || attr->used >= attr->size || req->offset >= attr->size ||
	    attr->mtime > (g_get_real_time() - SETTLED) * 1000)
		return 0;
	data = lseek(fd, (off_t)req->offset, SEEK_DATA);
	if (data < 0 && errno != ENXIO)
		return 0;
	if (data >= 0)
		end = MIN(end, (uint64_t)data);
	return end > req->offset ? (uint32_t)(end - req->offset) : 0;
}

static uint8_t *memory_of(struct scratch *scratch)
{
	G_STATIC_ASSERT(FILE_READ_MAX >= FILE_XATTR_MEMORY);
	if (!scratch->data)
		scratch->data = g_malloc(FILE_READ_MAX);
	return scratch->data;
}

static int do_read(const struct file_backend *file, int fd, struct backend_request *req,
		   struct scratch *scratch)
{
	static const uint8_t zeros[FILE_READ_MAX];
	uint32_t count = MIN(req->count, FILE_READ_MAX), hole;
	int ret = 0, opened;
	ssize_t n;

	if (!S_ISREG(req->attr.mode))
		return S_ISDIR(req->attr.mode) ? -EISDIR : -EREMOTEIO;
	opened = open_whole(fd, 0, req);
	if (opened < 0)
		return opened;
	hole = hole_at(opened, req, count);
	n = hole >= HOLE_MIN || hole == count
		    ? hole
		    : read_fully(opened, memory_of(scratch), count, req->offset);
	if (n < 0 || get_attr(file, opened, &req->attr, scratch) < 0)
		ret = status_of(errno);
	close(opened);
	if (ret < 0)
		return ret;
	req->data = n > 0 && n == hole ? zeros : scratch->data;
	req->data_len = (uint32_t)n;
	req->eof = req->offset + (uint64_t)n >= req->attr.size;
	/* No bytes, although fstat's size goes on: the file grows while it is read. */
	if (count > 0 && n == 0)
		req->eof = true;
	return 0;
}

static int do_readlink(const struct file_backend *file, int fd, struct backend_request *req,
		       struct scratch *scratch)
{
	char target[PATH_MAX];
	ssize_t n;

	if (!S_ISLNK(req->attr.mode))
		return -EREMOTEIO;
	n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return status_of(errno);
	if (n == 0 || n >= (ssize_t)sizeof(target))
		return -EBADMSG;
	req->text = g_strndup(target, (gsize)n);
	return 0;
}

/* Brings the file's data, with the attributes that the file has afterwards. */
static void bring_data(const struct file_backend *file, int fd, struct backend_request *req,
		       struct scratch *scratch)
{
	struct source_attr before = req->attr;
	int opened = open_whole(fd, 0, req);
	ssize_t n = opened < 0 ? -1
			       : read_fully(opened, memory_of(scratch),
					    MIN(req->count, FILE_READ_MAX), 0);

	if (n >= 0 && get_attr(file, opened, &req->attr, scratch) == 0)
		source_xattrs_bring(req->xattrs, &before, &req->attr, scratch->data, (uint32_t)n);
	req->why = QM_NONE; /* READ tells it */
	if (opened >= 0)
		close(opened);
}

/* Flags that chattr(1) sets.  A network file system has no flags, and opening a file there takes a
 * round trip.
 */
static void tell_flags(int fd, bool file, struct source_xattrs *xattrs)
{
	struct fsxattr attr;
	struct statx stx;
	int flags, opened;

	if (statx(fd, "", AT_EMPTY_PATH, 0, &stx) < 0 ||
	    !(stx.stx_attributes_mask & STATX_ATTR_IMMUTABLE))
		return;
	opened = reopen_to_read(fd, 0);
	if (opened < 0)
		return;
	if (ioctl(opened, FS_IOC_GETFLAGS, &flags) == 0) {
		xattrs->immutable = file && flags & FS_IMMUTABLE_FL;
		file_tell_flags((unsigned)flags & ~(xattrs->immutable ? FS_IMMUTABLE_FL : 0u),
				xattrs);
	}
	if (ioctl(opened, FS_IOC_FSGETXATTR, &attr) == 0)
		xattrs->project = attr.fsx_projid;
	close(opened);
}

static int do_xattrs(const struct file_backend *file, int fd, struct backend_request *req,
		     struct scratch *scratch)
{
	/* of an empty one nobody reads the data */
	int ret = S_ISREG(req->attr.mode) && !req->attr.size ? refuse_stub(fd, req) : 0;

	if (ret)
		return ret;
	req->xattrs = source_xattrs_new();
	ret = file_get_xattrs(fd, file->nfs4_acls, memory_of(scratch), req->xattrs);
	if (ret == 0 && (S_ISREG(req->attr.mode) || S_ISDIR(req->attr.mode)))
		tell_flags(fd, S_ISREG(req->attr.mode), req->xattrs);
	if (ret == 0 && req->count && S_ISREG(req->attr.mode))
		bring_data(file, fd, req, scratch);
	return ret < 0 ? status_of(-ret) : 0;
}

static int do_getattr(const struct file_backend *file, int fd, struct backend_request *req,
		      struct scratch *scratch)
{
	req->handle_len = get_handle(file, fd, req->handle);
	return 0;
}

/* Each is called with the object's attributes in req, except LOOKUP, which puts those of the object
 * that it finds there. */
static int (*const operations[])(const struct file_backend *file, int fd,
				 struct backend_request *req, struct scratch *scratch) = {
	[BACKEND_GETATTR] = do_getattr,	  [BACKEND_LOOKUP] = do_lookup,
	[BACKEND_READDIR] = do_readdir,	  [BACKEND_READ] = do_read,
	[BACKEND_READLINK] = do_readlink, [BACKEND_XATTRS] = do_xattrs,
};

static void do_request(void *user, struct backend_request *req, void *memory)
{
	struct file_backend *file = user;
	struct scratch *scratch = memory;
	int fd = open_source_object(file, &req->object), ret;

	scratch->dev = file->root_dev;
	scratch->fs = file->root_fs;
	req->has_attr = true; /* void if the request fails */
	if (fd < 0 || (req->op != BACKEND_LOOKUP && get_attr(file, fd, &req->attr, scratch) < 0))
		ret = status_of(errno);
	else
		ret = operations[req->op](file, fd, req, scratch);
	if (fd >= 0)
		close(fd);
	backend_watch_answer(&file->watch, g_get_monotonic_time());
	backend_watch_end(&file->watch);
	backend_complete(req, ret);
}

static void scratch_clear(void *data)
{
	g_free(((struct scratch *)data)->data);
}

/* Finds out whether handles work here, in both directions. */
static void try_handles(struct file_backend *file)
{
	union kernel_handle kernel;
	int fd;

	kernel.handle.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(file->root_fd, "", &kernel.handle, &file->root_mount, AT_EMPTY_PATH) <
		    0 ||
	    kernel.handle.handle_bytes > KERNEL_HANDLE_MAX)
		return;
	fd = open_by_handle_at(file->root_fd, &kernel.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	close(fd);
	file->handles = true;
}

static void file_close(struct backend *backend)
{
	struct file_backend *file = (struct file_backend *)backend;

	if (file->workers)
		backend_workers_free(file->workers);
	if (file->root_fd >= 0)
		close(file->root_fd);
	g_free(file);
}

static char *path_of_url(const char *url, GError **error)
{
	const char *path = url + strlen("file://");

	if (*path != '/') {
		error_set(error, EINVAL,
			  "%s: write an absolute path after three slashes: file:///path", url);
		return NULL;
	}
	return url_path(url, path, strlen(path), error);
}

static bool open_root(struct file_backend *file, const char *url, GError **error)
{
	g_autofree char *path = path_of_url(url, error);
	int stub;

	if (!path)
		return false;
	file->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stub = file->root_fd >= 0 ? is_stub(file->root_fd) : 0;
	if (stub > 0)
		return error_set(
			error, EINVAL,
			"%s: %s is itself being migrated, or is a copy of such a tree that "
			"was made past its doors, and does not have all bytes: finalize that "
			"migration first",
			url, path);
	if (file->root_fd >= 0 && !stub)
		return true;
	return error_set(error, errno,
			 "%s: %s cannot be opened (%s); mount or create that directory, or name "
			 "another",
			 url, path, g_strerror(errno));
}

static struct backend *file_open(const struct backend_config *config, struct source_object *root,
				 struct source_attr *attr, GError **error)
{
	struct file_backend *file = g_new0(struct file_backend, 1);
	unsigned per = CLAMP(config->window ? config->window : THREADS_PER_CONN, 1, 16);
	g_autofree uint8_t *memory = NULL;
	struct scratch scratch = {0};
	struct stat st;

	file->base.ops = &backend_file_ops;
	if (!open_root(file, config->url, error)) {
		file_close(&file->base);
		return NULL;
	}
	if (fstat(file->root_fd, &st) == 0) {
		file->root_dev = st.st_dev;
		file->root_fs = migrate_fs_number(file->root_fd, st.st_dev);
		file->automounter = is_automounter(file->root_fd);
	}
	try_handles(file);
	memory = g_malloc(FILE_XATTR_MEMORY);
	file->nfs4_acls = file_has_nfs4_acls(file->root_fd, memory);
	file->workers = backend_workers_new(CLAMP(config->demand_connections, 1, 8) * per,
					    CLAMP(config->connections, 1, 16) * per, do_request,
					    scratch_clear, sizeof(struct scratch), file);
	if (!file->workers || get_attr(file, file->root_fd, attr, &scratch) < 0) {
		error_set(error, errno, "%s: cannot be served (%s); raise the limit on processes",
			  config->url, g_strerror(errno));
		file_close(&file->base);
		return NULL;
	}
	root->path = g_strdup("");
	root->handle_len = get_handle(file, file->root_fd, root->handle);
	return &file->base;
}

static uint64_t file_root_fs(struct backend *backend)
{
	return migrate_fs_id(((struct file_backend *)backend)->root_fd);
}

static void file_submit(struct backend *backend, struct backend_request *req)
{
	struct file_backend *file = (struct file_backend *)backend;

	backend_prepare(req);
	req->backend.submitted = g_get_monotonic_time();
	backend_watch_begin(&file->watch);
	backend_workers_submit(file->workers, req);
}

static uint32_t file_max_read(struct backend *backend)
{
	return FILE_READ_MAX;
}

static unsigned file_away(struct backend *backend)
{
	return backend_watch_away(&((struct file_backend *)backend)->watch);
}

static unsigned file_carries(struct backend *backend)
{
	return BACKEND_CARRIES_ACL | BACKEND_CARRIES_XATTR | BACKEND_TELLS_LINKS;
}

static char *file_not_carried(struct backend *backend)
{
	const struct file_backend *file = (struct file_backend *)backend;

	return g_strdup_printf("%sSELinux labels (security.selinux) and signatures (security.evm): "
			       "they belong to the host that made them",
			       file->nfs4_acls ? "ACLs: the source is mounted over NFS version 4, "
						 "and its ACLs are not carried\n"
					       : "");
}

const struct backend_ops backend_file_ops = {
	.scheme = "file",
	.open = file_open,
	.close = file_close,
	.submit = file_submit,
	.max_read = file_max_read,
	.away = file_away,
	.carries = file_carries,
	.not_carried = file_not_carried,
	.root_fs = file_root_fs,
};
