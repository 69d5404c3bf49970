/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "attributes.h"
#include "dummy.h"
#include "links.h"
#include "sparse.h"
#include "templates.h"

#define NAME_LEN  32
#define ROOM_PART 20

/* One object on its way to its name. */
struct making {
	struct retriever *retriever;
	const struct stub_parent *parent;
	const struct source_entry *entry;
	const char *target;
	const struct source_xattrs *xattrs;
	int dir_fd;	/* where it gets a name first, */
	const char *as; /* and which */
	struct carried carried;
	bool linked;		      /* to a provisional name */
	bool brought;		      /* its data came too, and is in the page cache */
	struct migrate_extents zeros; /* of its data */
};

char *stub_child_path(const char *parent, const char *name)
{
	char *path;

	if (!parent)
		return NULL;
	path = *parent ? g_strconcat(parent, "/", name, NULL) : g_strdup(name);
	if (strlen(path) > MIGRATE_REC_MAX_PATH)
		g_clear_pointer(&path, g_free);
	return path;
}

/* 0 or -errno; to be cleared in any case. */
static int make_record(const struct making *m, struct migrate_record *rec)
{
	const struct source_entry *entry = m->entry;
	bool dir = S_ISDIR(entry->attr.mode);

	memset(rec, 0, sizeof *rec);
	rec->state = dir ? MIGRATE_UNFILLED : MIGRATE_PARTIAL;
	rec->fileid = entry->attr.fileid;
	rec->size = dir ? entry->attr.nlink : entry->attr.size;
	rec->mtime = entry->attr.mtime;
	rec->ctime = entry->attr.ctime;
	if (entry->handle_len && dir) {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->handle_len = entry->handle_len;
		memcpy(rec->handle, entry->handle, entry->handle_len);
	} else if (entry->handle_len) {
		templates_shrink(m->retriever->templates, entry->handle, entry->handle_len, rec);
	}
	/* a directory's record may be long; a file is found again through its parent's */
	if (dir || !entry->handle_len)
		rec->path = stub_child_path(m->parent->path, entry->name);
	return dir ? 0 : migrate_extents_add(&rec->missing, 0, rec->size);
}

static int put_record(const struct making *m, int fd)
{
	struct migrate_record rec;
	int ret = make_record(m, &rec);

	if (!ret)
		ret = migrate_binding_get(fd, "", &rec.binding);
	if (!ret)
		ret = migrate_record_store(fd, &rec);
	migrate_record_clear(&rec);
	return ret;
}

/* What is lost must be known before the object can be seen. */
static int set_attributes(struct making *m, int fd, bool inherits)
{
	int ret =
		attributes_set(m->retriever, fd, &m->entry->attr, m->xattrs, inherits, &m->carried);

	return ret ? ret
		   : attributes_report(m->retriever, &m->carried, m->parent->fd, m->entry->name);
}

bool stub_has_room(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 && st.f_bavail >= st.f_blocks / ROOM_PART;
}

/* What came with the answer, before anybody can see the file.  Where it cannot be written, or too
 * many files with theirs are open until they are durable, it is fetched again like any other. */
static void write_data(struct making *m, int fd)
{
	const struct source_xattrs *xattrs = m->xattrs;

	m->brought = xattrs && xattrs->data && xattrs->data_len == m->entry->attr.size &&
		     stub_has_room(fd) && m->parent->brought &&
		     sparse_pwrite(fd, xattrs->data, xattrs->data_len, 0, &m->zeros) == 0;
}

/* A name goes before its data where there is no room for both. */
static int set_file_attributes(struct making *m, int fd)
{
	int ret = set_attributes(m, fd, m->parent->inherits);

	if (!m->brought || (ret != -ENOSPC && ret != -EDQUOT))
		return ret;
	m->brought = false;
	attributes_clear(&m->carried);
	m->carried = (struct carried){0};
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, m->entry->attr.size) < 0)
		return -errno;
	return set_attributes(m, fd, m->parent->inherits);
}

/* A regular file without a name, opened O_RDWR. */
static int make_file(struct making *m)
{
	uint64_t size = m->entry->attr.size;
	int fd = openat(m->parent->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_NOATIME, 0600);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (size) {
		ret = put_record(m, fd);
		if (!ret && ftruncate(fd, size) < 0)
			ret = -errno;
		if (!ret)
			write_data(m, fd);
	}
	if (!ret)
		ret = set_file_attributes(m, fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

static int link_fd(int fd, int dir_fd, const char *name)
{
	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	return errno == EEXIST ? STUB_THERE : -errno;
}

static void count_new(const struct making *m)
{
	struct retriever *retriever = m->retriever;
	const struct source_entry *entry = m->entry;

	if (m->carried.acl)
		COUNT_ADD(retriever, acls_carried, 1);
	if (m->carried.xattrs)
		COUNT_ADD(retriever, xattrs_carried, 1);
	if (S_ISDIR(entry->attr.mode)) {
		COUNT_ADD(retriever, directories_found, 1);
		COUNT_ADD(retriever, unfilled, 1);
		return;
	}
	COUNT_ADD(retriever, files_found, 1);
	if (S_ISREG(entry->attr.mode) && entry->attr.size)
		COUNT_ADD(retriever, bytes_found, entry->attr.size);
	else
		COUNT_ADD(retriever, files_whole, 1);
}

/*
 * With its data, which is not durable: the record says that all of it is missing, and goes like
 * that of a file that was filled (durability.h).  The object is there before the name, so that
 * whoever finds the name finds `filled` too.
 */
static int link_brought(struct making *m, int fd)
{
	uint64_t size = m->entry->attr.size;
	struct object *object;
	int ret = object_get_taking(m->retriever, fd, &object);

	if (ret)
		return ret;
	g_mutex_lock(&object->lock);
	ret = migrate_extents_add(&file_of(object)->filled, 0, size);
	if (!ret)
		ret = migrate_extents_add_all(&file_of(object)->zeros, &m->zeros);
	g_mutex_unlock(&object->lock);
	if (!ret)
		ret = link_fd(object->fd, m->dir_fd, m->as);
	if (!ret) {
		COUNT_ADD(m->retriever, bytes_fetched, size);
		m->parent->brought(object, size);
	}
	object_unref(object);
	return ret;
}

static int link_stub(struct making *m, int fd)
{
	int ret = link_fd(fd, m->dir_fd, m->as);

	close(fd);
	return ret;
}

static int create_file(struct making *m)
{
	int fd = make_file(m);
	int ret = fd;

	if (fd >= 0)
		ret = m->brought ? link_brought(m, fd) : link_stub(m, fd);
	migrate_extents_clear(&m->zeros);
	if (ret == 0)
		count_new(m);
	return ret;
}

/* Everything else is made under a name of its own and renamed. */
static int make_staged(const struct making *m, const char *name)
{
	const struct source_attr *attr = &m->entry->attr;
	int dir = m->retriever->staging_fd;

	switch (attr->mode & S_IFMT) {
	case S_IFDIR:
		return mkdirat(dir, name, 0700) < 0 ? -errno : 0;
	case S_IFLNK:
		return symlinkat(m->target, dir, name) < 0 ? -errno : 0;
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return mknodat(dir, name, (attr->mode & S_IFMT) | 0600, attr->rdev) < 0 ? -errno
											: 0;
	default:
		return -EBADMSG;
	}
}

static int set_staged_node(struct making *m, const char *name)
{
	int ret = attributes_set_node(m->retriever, m->retriever->staging_fd, name, &m->entry->attr,
				      &m->carried);

	return ret ? ret
		   : attributes_report(m->retriever, &m->carried, m->parent->fd, m->entry->name);
}

static int set_staged_directory(struct making *m, const char *name)
{
	int fd = openat(m->retriever->staging_fd, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return -errno;
	ret = put_record(m, fd);
	if (!ret)
		ret = set_attributes(m, fd, false);
	close(fd);
	return ret;
}

static int create_staged(struct making *m)
{
	int staging = m->retriever->staging_fd, ret;
	bool dir = S_ISDIR(m->entry->attr.mode);
	char name[NAME_LEN];

	if (faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return STUB_THERE;
	g_snprintf(name, sizeof name, "%d", g_atomic_int_add(&m->retriever->staging_serial, 1));
	ret = make_staged(m, name);
	if (ret)
		return ret;
	ret = dir ? set_staged_directory(m, name) : set_staged_node(m, name);
	if (!ret && renameat2(staging, name, m->dir_fd, m->as, RENAME_NOREPLACE) < 0)
		ret = errno == EEXIST ? STUB_THERE : -errno;
	if (ret)
		unlinkat(staging, name, dir ? AT_REMOVEDIR : 0);
	else
		count_new(m);
	return ret;
}

bool stub_wants_data(const struct stub_parent *parent, const struct source_attr *attr)
{
	return S_ISREG(attr->mode) && attr->size && attr->size <= parent->small && !attr->elsewhere;
}

/* Whether what it has beside its attributes must be known and is not. */
static bool must_ask(const struct making *m)
{
	const struct source_attr *attr = &m->entry->attr;

	return !m->xattrs &&
	       (stub_wants_data(m->parent, attr) ||
		(m->retriever->carries && (S_ISREG(attr->mode) || S_ISDIR(attr->mode))));
}

static int create_one(struct making *m)
{
	if (must_ask(m))
		return faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? STUB_THERE
										   : STUB_ASK;
	return S_ISREG(m->entry->attr.mode) ? create_file(m) : create_staged(m);
}

/* The first name makes .migrate/links/FILEID... */
static int create_provisional(const struct making *m, const char *id)
{
	struct making provisional = *m;
	int ret;

	provisional.dir_fd = m->retriever->links_fd;
	provisional.as = id;
	ret = create_one(&provisional);
	attributes_clear(&provisional.carried);
	return ret;
}

/* Then nothing gets a name there any more. */
static bool is_removed(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) == 0 && st.st_nlink == 0;
}

/* ... and every name links to it. */
static int create_linked(struct making *m)
{
	int links = m->retriever->links_fd, ret;
	char id[LINK_NAME_LEN];

	if (faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return STUB_THERE;
	links_name(id, links_fileid(&m->entry->attr));
	for (;;) {
		if (linkat(links, id, m->dir_fd, m->as, 0) == 0) {
			m->linked = true;
			return 0;
		}
		/* as many as there can be: this name takes the provisional's */
		if (errno == EMLINK &&
		    renameat2(links, id, m->dir_fd, m->as, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != ENOENT)
			return errno == EEXIST ? STUB_THERE : -errno;
		if (is_removed(m->dir_fd))
			return -ENOENT;
		ret = create_provisional(m, id);
		if (ret < 0 || ret == STUB_ASK)
			return ret;
	}
}

static int create(struct making *m)
{
	int ret = !S_ISDIR(m->entry->attr.mode) && m->entry->attr.nlink > 1 ? create_linked(m)
									    : create_one(m);

	attributes_clear(&m->carried);
	return ret;
}

/*
 * In one step: a name that was a dummy is never gone, or a lookup in a directory whose names are
 * all here would be told so.  -EAGAIN: it is no dummy any more.
 */
static int replace_dummy(struct making *m)
{
	struct making staged = *m;
	int staging = m->retriever->staging_fd, ret;
	char name[NAME_LEN];

	if (!dummy_is(m->dir_fd, m->as))
		return -EAGAIN;
	g_snprintf(name, sizeof name, "%d", g_atomic_int_add(&m->retriever->staging_serial, 1));
	staged.dir_fd = staging;
	staged.as = name;
	ret = create(&staged);
	if (ret)
		return ret == STUB_THERE ? -EEXIST : ret;
	if (renameat2(staging, name, m->dir_fd, m->as, RENAME_EXCHANGE) < 0)
		ret = -errno;
	else
		m->linked = staged.linked;
	unlinkat(staging, name, ret && S_ISDIR(m->entry->attr.mode) ? AT_REMOVEDIR : 0);
	return ret;
}

int stub_create(struct retriever *retriever, const struct stub_parent *parent,
		const struct source_entry *entry, const char *target,
		const struct source_xattrs *xattrs)
{
	struct making m = {.retriever = retriever,
			   .parent = parent,
			   .entry = entry,
			   .target = target,
			   .xattrs = xattrs,
			   .dir_fd = parent->fd,
			   .as = entry->name};
	int ret;

	do {
		ret = create(&m);
		if (ret != STUB_THERE || !parent->named || !dummy_is(parent->fd, entry->name))
			break;
		g_mutex_lock(&retriever->dummy_lock);
		ret = replace_dummy(&m);
		g_mutex_unlock(&retriever->dummy_lock);
	} while (ret == -EAGAIN);
	if (ret == 0 && m.linked)
		links_count(retriever, &entry->attr);
	return ret;
}
