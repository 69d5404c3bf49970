/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dummy.h"
#include "templates.h"

#define NAME_LEN	32
#define LINK_COUNTS_MAX 1000000 /* about 60 MB */

static gint staging_serial;

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

static void make_record(struct retriever *retriever, const struct stub_parent *parent,
			const struct source_entry *entry, struct migrate_record *rec)
{
	bool dir = S_ISDIR(entry->attr.mode);

	memset(rec, 0, sizeof *rec);
	rec->state = dir ? MIGRATE_UNFILLED : MIGRATE_PARTIAL;
	rec->fileid = entry->attr.fileid;
	rec->size = dir ? 0 : entry->attr.size;
	rec->mtime = entry->attr.mtime;
	rec->ctime = entry->attr.ctime;
	if (entry->handle_len && dir) {
		rec->flags |= MIGRATE_REC_HANDLE;
		rec->handle_len = entry->handle_len;
		memcpy(rec->handle, entry->handle, entry->handle_len);
	} else if (entry->handle_len) {
		templates_shrink(retriever->templates, entry->handle, entry->handle_len, rec);
	}
	/* a directory's record may be long; a file is found again through its parent's */
	if (dir || !entry->handle_len)
		rec->path = stub_child_path(parent->path, entry->name);
	if (!dir)
		migrate_extents_add(&rec->missing, 0, rec->size);
}

/* Owner, mode, times of an open object; the mode last but for times, because chown clears bits. */
static int apply_attr(int fd, const struct source_attr *attr)
{
	struct timespec times[2] = {migrate_timespec(attr->atime), migrate_timespec(attr->mtime)};

	if (fchown(fd, attr->uid, attr->gid) < 0)
		return -errno;
	if (fchmod(fd, attr->mode & 07777) < 0)
		return -errno;
	return futimens(fd, times) < 0 ? -errno : 0;
}

/* A regular file without a name, opened O_RDWR. */
static int make_file(struct retriever *retriever, const struct stub_parent *parent,
		     const struct source_entry *entry, struct migrate_record *rec)
{
	int fd = openat(parent->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_NOATIME, 0600);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (entry->attr.size) {
		make_record(retriever, parent, entry, rec);
		ret = migrate_binding_get(fd, "", &rec->binding);
		if (!ret)
			ret = migrate_record_store(fd, rec);
		if (!ret && ftruncate(fd, entry->attr.size) < 0)
			ret = -errno;
	}
	if (!ret)
		ret = apply_attr(fd, &entry->attr);
	if (!ret)
		return fd;
	close(fd);
	migrate_record_clear(rec);
	return ret;
}

static const char *name_here(const struct stub_parent *parent, const struct source_entry *entry)
{
	return parent->as ? parent->as : entry->name;
}

static int link_fd(int fd, int dir_fd, const char *name)
{
	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	return errno == EEXIST ? 1 : -errno;
}

static void count_new(struct retriever *retriever, const struct source_entry *entry)
{
	bool dir = S_ISDIR(entry->attr.mode);
	bool file = S_ISREG(entry->attr.mode);

	if (dir) {
		COUNT_ADD(retriever, directories_found, 1);
		COUNT_ADD(retriever, unfilled, 1);
		return;
	}
	COUNT_ADD(retriever, files_found, 1);
	if (file && entry->attr.size)
		COUNT_ADD(retriever, bytes_found, entry->attr.size);
	else
		COUNT_ADD(retriever, files_whole, 1);
}

/* Hands the file over, or closes it. */
static void hand_over(int fd, struct migrate_record *rec, bool stub, int *adopt,
		      struct migrate_record *record)
{
	if (adopt && stub) {
		*adopt = fd;
		*record = *rec;
	} else {
		close(fd);
		migrate_record_clear(rec);
	}
}

static int create_file(struct retriever *retriever, const struct stub_parent *parent,
		       const struct source_entry *entry, int *adopt, struct migrate_record *record)
{
	struct migrate_record rec = {0};
	int fd = make_file(retriever, parent, entry, &rec);
	int ret;

	if (fd < 0)
		return fd;
	ret = link_fd(fd, parent->fd, name_here(parent, entry));
	if (ret == 0)
		count_new(retriever, entry);
	hand_over(fd, &rec, ret == 0 && entry->attr.size, adopt, record);
	return ret;
}

/* Everything else is made under a name of its own and renamed. */
static int make_staged(struct retriever *retriever, const struct source_entry *entry,
		       const char *target, const char *name)
{
	const struct source_attr *attr = &entry->attr;
	int dir = retriever->staging_fd;

	switch (attr->mode & S_IFMT) {
	case S_IFDIR:
		return mkdirat(dir, name, 0700) < 0 ? -errno : 0;
	case S_IFLNK:
		return symlinkat(target, dir, name) < 0 ? -errno : 0;
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

static int dress_node(int dir, const char *name, const struct source_attr *attr)
{
	struct timespec times[2] = {migrate_timespec(attr->atime), migrate_timespec(attr->mtime)};

	if (fchownat(dir, name, attr->uid, attr->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISLNK(attr->mode) && fchmodat(dir, name, attr->mode & 07777, 0) < 0)
		return -errno;
	return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int dress_directory(struct retriever *retriever, const struct stub_parent *parent,
			   const char *name, const struct source_entry *entry)
{
	struct migrate_record rec = {0};
	int fd = openat(retriever->staging_fd, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return -errno;
	make_record(retriever, parent, entry, &rec);
	ret = migrate_binding_get(fd, "", &rec.binding);
	if (!ret)
		ret = migrate_record_store(fd, &rec);
	if (!ret)
		ret = apply_attr(fd, &entry->attr);
	migrate_record_clear(&rec);
	close(fd);
	return ret;
}

static int place_staged(struct retriever *retriever, const struct stub_parent *parent,
			const struct source_entry *entry, const char *target, int dir_fd,
			const char *as)
{
	bool dir = S_ISDIR(entry->attr.mode);
	char name[NAME_LEN];
	int ret;

	if (faccessat(dir_fd, as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	g_snprintf(name, sizeof name, "%d", g_atomic_int_add(&staging_serial, 1));
	ret = make_staged(retriever, entry, target, name);
	if (ret)
		return ret;
	ret = dir ? dress_directory(retriever, parent, name, entry)
		  : dress_node(retriever->staging_fd, name, &entry->attr);
	if (!ret && renameat2(retriever->staging_fd, name, dir_fd, as, RENAME_NOREPLACE) < 0)
		ret = errno == EEXIST ? 1 : -errno;
	if (ret)
		unlinkat(retriever->staging_fd, name, dir ? AT_REMOVEDIR : 0);
	else
		count_new(retriever, entry);
	return ret;
}

/* The first name makes .migrate/links/FILEID... */
static int make_linked(struct retriever *retriever, const struct stub_parent *parent,
		       const struct source_entry *entry, const char *target, const char *id,
		       int *adopt, struct migrate_record *record)
{
	struct migrate_record rec = {0};
	int fd, ret;

	if (!S_ISREG(entry->attr.mode))
		return place_staged(retriever, parent, entry, target, retriever->links_fd, id);
	fd = make_file(retriever, parent, entry, &rec);
	if (fd < 0)
		return fd;
	ret = link_fd(fd, retriever->links_fd, id);
	if (ret == 0)
		count_new(retriever, entry);
	hand_over(fd, &rec, ret == 0 && entry->attr.size, adopt, record);
	return ret;
}

/*
 * One more name is made.  With the last the provisional one goes, so that the link count is right.
 * Counted in memory only: names made before a restart are not counted, and then it stays until
 * the end, which is safe.
 */
static void count_link(struct retriever *retriever, const struct source_attr *attr, const char *id)
{
	uint64_t fileid = attr->fileid;
	guint made;

	g_mutex_lock(&retriever->links_lock);
	made = 1 + GPOINTER_TO_UINT(g_hash_table_lookup(retriever->link_counts, &fileid));
	if (made >= attr->nlink) {
		g_hash_table_remove(retriever->link_counts, &fileid);
		unlinkat(retriever->links_fd, id, 0);
	} else if (made > 1 || g_hash_table_size(retriever->link_counts) < LINK_COUNTS_MAX) {
		g_hash_table_insert(retriever->link_counts, g_memdup2(&fileid, sizeof fileid),
				    GUINT_TO_POINTER(made));
	}
	g_mutex_unlock(&retriever->links_lock);
}

/* ... and every name links to it. */
static int create_linked(struct retriever *retriever, const struct stub_parent *parent,
			 const struct source_entry *entry, const char *target, int *adopt,
			 struct migrate_record *record)
{
	const char *as = name_here(parent, entry);
	char id[NAME_LEN];

	g_snprintf(id, sizeof id, "%016" G_GINT64_MODIFIER "x", entry->attr.fileid);
	for (;;) {
		int ret;

		if (linkat(retriever->links_fd, id, parent->fd, as, 0) == 0) {
			count_link(retriever, &entry->attr, id);
			return 0;
		}
		if (errno ==
		    EMLINK) { /* as many as there can be: this name takes the provisional's */
			ret = renameat2(retriever->links_fd, id, parent->fd, as, RENAME_NOREPLACE);
			return ret == 0 ? 0 : errno == EEXIST ? 1 : -errno;
		}
		if (errno != ENOENT)
			return errno == EEXIST ? 1 : -errno;
		ret = make_linked(retriever, parent, entry, target, id, adopt, record);
		adopt = NULL;
		if (ret < 0)
			return ret;
	}
}

static int create(struct retriever *retriever, const struct stub_parent *parent,
		  const struct source_entry *entry, const char *target, int *adopt,
		  struct migrate_record *record)
{
	if (adopt)
		*adopt = -1;
	if (!S_ISDIR(entry->attr.mode) && entry->attr.nlink > 1)
		return create_linked(retriever, parent, entry, target, adopt, record);
	if (!S_ISREG(entry->attr.mode))
		return place_staged(retriever, parent, entry, target, parent->fd,
				    name_here(parent, entry));
	return create_file(retriever, parent, entry, adopt, record);
}

/*
 * In one step: a name that was a dummy is never gone, or a lookup in a directory whose names are
 * all here would be told so.  -EAGAIN: it is no dummy any more.
 */
static int replace_dummy(struct retriever *retriever, const struct stub_parent *parent,
			 const struct source_entry *entry, const char *target, int *adopt,
			 struct migrate_record *record)
{
	char name[NAME_LEN];
	const struct stub_parent staging = {
		.fd = retriever->staging_fd, .path = parent->path, .as = name};
	int ret;

	if (!dummy_is(parent->fd, entry->name))
		return -EAGAIN;
	g_snprintf(name, sizeof name, "%d", g_atomic_int_add(&staging_serial, 1));
	ret = create(retriever, &staging, entry, target, adopt, record);
	if (ret)
		return ret > 0 ? -EEXIST : ret;
	if (renameat2(staging.fd, name, parent->fd, entry->name, RENAME_EXCHANGE) < 0)
		ret = -errno;
	unlinkat(staging.fd, name, ret && S_ISDIR(entry->attr.mode) ? AT_REMOVEDIR : 0);
	return ret;
}

int stub_create(struct retriever *retriever, const struct stub_parent *parent,
		const struct source_entry *entry, const char *target, int *adopt,
		struct migrate_record *record)
{
	int ret;

	do {
		ret = create(retriever, parent, entry, target, adopt, record);
		if (ret != 1 || !parent->named || !dummy_is(parent->fd, entry->name))
			return ret;
		g_mutex_lock(&retriever->dummy_lock);
		ret = replace_dummy(retriever, parent, entry, target, adopt, record);
		g_mutex_unlock(&retriever->dummy_lock);
	} while (ret == -EAGAIN);
	return ret;
}

void stub_clean_staging(struct retriever *retriever)
{
	int fd = openat(retriever->staging_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(retriever->staging_fd, e->d_name, 0) < 0)
			unlinkat(retriever->staging_fd, e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}
