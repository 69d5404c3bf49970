/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/project.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/prior.h"
#include "retriever/making/take.h"
#include "retriever/making/take_directory.h"
#include "retriever/objects/links.h"
#include "retriever/objects/old_handles.h"
#include "retriever/objects/sparse.h"
#include "retriever/progress/recount.h"

/* Writes the data that came with the answer, before the file can be seen.  If it cannot be written,
 * or if too many files with data are open until they are durable, the data is fetched again like
 * any other. */
static void write_data(struct new_object *m, int fd)
{
	const struct source_xattrs *xattrs = m->xattrs;

	m->brought = xattrs && xattrs->data && xattrs->data_len == m->entry->attr.size &&
		     make_has_room(fd) && m->parent->brought &&
		     sparse_pwrite(fd, xattrs->data, xattrs->data_len, 0, &m->zeros) == 0;
}

/* A name goes before its data where there is no room for both. */
static int set_file_attributes(struct new_object *m, int fd)
{
	int ret = new_object_set_attributes(m, fd, m->parent->inherits);

	if (!m->brought || (ret != -ENOSPC && ret != -EDQUOT))
		return ret;
	m->brought = false;
	attributes_clear(&m->carried);
	m->carried = (struct attributes_result){0};
	if (ftruncate(fd, 0) < 0 || ftruncate(fd, m->entry->attr.size) < 0)
		return -errno;
	return new_object_set_attributes(m, fd, m->parent->inherits);
}

/* Opened O_RDWR.  rec: an empty one, its record if it has bytes. */
static int make_file(struct new_object *m, struct migrate_record *rec)
{
	uint64_t size = m->entry->attr.size;
	int fd = nameless_make(&m->nameless, m->retriever, m->parent->fd, 0600);
	int ret = 0;

	if (fd < 0)
		return fd;
	if (m->retriever->copying && (!size || m->entry->attr.unsettled))
		ret = copy_mark_set(fd, &m->entry->attr);
	if (!ret && new_object_is_stub(m)) {
		ret = new_object_record(m, rec);
		if (!ret)
			ret = new_object_store_record(fd, rec);
		/*
		 * The size before the bytes: if they brought it, it would be on the disk when they
		 * are, and the record before, and what is missing beyond the size is void.
		 */
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

/* What new_object_count() counts. */
static unsigned changes(const struct new_object *m)
{
	return new_object_is_stub(m) ? RECOUNT_MADE : RECOUNT_MADE | RECOUNT_WHOLE;
}

/* 0; -EEXIST: the name is there already; -errno. */
static int link_fd(struct new_object *m, int fd)
{
	uint64_t added;
	ino_t counted;
	int ret;

	if (old_handles_are_wanted(m->retriever) && /* entries are kept for good */
	    faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	added = old_handles_add(m->retriever, m->entry, fd, "");
	counted = recount_begin(m->retriever, fd, "", changes(m));
	ret = nameless_name(&m->nameless, fd, m->dir_fd, m->as);
	if (!ret)
		new_object_count(m);
	recount_end(m->retriever, counted, changes(m), !ret);
	if (!ret)
		old_handles_name(m->retriever, m->entry, added);
	return ret;
}

/*
 * Links a file together with its data, which is not durable: the record says that all of it is
 * missing, and is removed like that of a fetched file (durability.h).  The struct object exists
 * before the name, so that a request that finds the name finds `filled` too.
 */
static int link_brought(struct new_object *m, int fd, struct migrate_record *rec)
{
	uint64_t size = m->entry->attr.size;
	struct object *object;
	int ret = object_get_made(m->retriever, fd, rec, &object);

	if (ret)
		return ret;
	g_mutex_lock(&object->lock);
	ret = migrate_extents_add(&file_of(object)->filled, 0, size);
	if (!ret)
		ret = migrate_extents_add_all(&file_of(object)->zeros, &m->zeros);
	g_mutex_unlock(&object->lock);
	if (!ret)
		ret = link_fd(m, object->fd);
	if (!ret) {
		COUNT_ADD(m->retriever, bytes_fetched, size);
		m->parent->brought(object, size);
	}
	object_unref(object);
	return ret;
}

static int link_stub(struct new_object *m, int fd)
{
	int ret = link_fd(m, fd);

	close(fd);
	return ret;
}

static int create_file(struct new_object *m, enum make_outcome *outcome)
{
	struct migrate_record rec = {0};
	int fd = make_file(m, &rec);
	int ret = fd;

	if (fd >= 0)
		ret = make_named(m->brought ? link_brought(m, fd, &rec) : link_stub(m, fd),
				 outcome);
	nameless_end(&m->nameless);
	migrate_record_clear(&rec);
	migrate_extents_clear(&m->zeros);
	m->here = ret == 0 && *outcome == MAKE_DONE && (m->brought || !new_object_is_stub(m));
	return ret;
}

/* Everything else is made under a name of its own and renamed. */
static int make_staged(const struct new_object *m, const char *name)
{
	const struct source_attr *attr = &m->entry->attr;
	int dir = m->stage_fd;

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

static int set_staged_node(struct new_object *m, const char *name)
{
	int ret = attributes_set_node(m->retriever, m->stage_fd, name, &m->entry->attr, m->xattrs,
				      &m->carried);

	if (!ret && m->retriever->copying)
		ret = copy_mark_set_name(m->stage_fd, name, &m->entry->attr);
	return ret ? ret
		   : attributes_report(m->retriever, &m->carried, m->parent->fd, m->entry->name);
}

static int set_staged_directory(struct new_object *m, const char *name)
{
	int fd = openat(m->stage_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return -errno;
	ret = new_object_put_record(m, fd, 0);
	if (!ret)
		ret = new_object_set_attributes(m, fd, false);
	if (!ret && m->retriever->copying && m->entry->attr.unsettled)
		ret = copy_mark_set_if_room(fd, &m->entry->attr);
	close(fd);
	return ret;
}

/* 0; -EEXIST: the name is there already; -errno.  The lock: another thread that takes the directory
 * from the prior copy is done, or has not begun. */
static int name_staged(const struct new_object *m, const char *name)
{
	const bool taken = S_ISDIR(m->entry->attr.mode) && m->retriever->prior;
	GMutex *lock = taken ? prior_lock(m->retriever->prior, m->as) : NULL;
	const uint64_t added = old_handles_add(m->retriever, m->entry, m->stage_fd, name);
	ino_t counted;
	int ret = 0;

	if (lock)
		g_mutex_lock(lock);
	counted = recount_begin(m->retriever, m->stage_fd, name, changes(m));
	if (renameat2(m->stage_fd, name, m->dir_fd, m->as, RENAME_NOREPLACE) < 0)
		ret = -errno;
	else
		new_object_count(m);
	recount_end(m->retriever, counted, changes(m), !ret);
	if (lock)
		g_mutex_unlock(lock);
	if (!ret)
		old_handles_name(m->retriever, m->entry, added);
	return ret;
}

/* The project that a directory of another tool's copy hands on, if that is not its parent's. */
static struct project own_project(const struct new_object *m)
{
	struct project project = {0};
	int fd = m->parent->prior_fd < 0 || !m->retriever->prior->adopted
			 ? -1
			 : openat(m->parent->prior_fd, m->entry->name,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return project;
	project = project_of(fd);
	close(fd);
	return project;
}

/* A directory that is made anew in the place of one that had a project keeps that: before it has
 * its name, or, where its parent has another one, before anything is made in it. */
static int name_directory(const struct new_object *m, const char *name)
{
	const struct project own = own_project(m);
	struct project above;
	int ret = 0;

	if (!own.inherited)
		return name_staged(m, name);
	above = project_of(m->parent->fd);
	if (!above.inherited)
		ret = project_give(m->stage_fd, name, own);
	if (!ret)
		ret = name_staged(m, name);
	if (!ret && above.inherited && own.id != above.id && m->dir_fd == m->parent->fd)
		ret = project_give(m->dir_fd, m->as, own);
	return ret;
}

static int make_and_name(struct new_object *m, enum make_outcome *outcome)
{
	bool dir = S_ISDIR(m->entry->attr.mode);
	char name[NAMELESS_LEN];
	int ret;

	nameless_stage(m->retriever, name);
	ret = make_staged(m, name);
	if (ret)
		return ret;
	ret = dir ? set_staged_directory(m, name) : set_staged_node(m, name);
	if (!ret)
		ret = make_named(dir ? name_directory(m, name) : name_staged(m, name), outcome);
	if (ret || *outcome == MAKE_THERE)
		unlinkat(m->stage_fd, name, dir ? AT_REMOVEDIR : 0);
	return ret;
}

static int create_staged(struct new_object *m, enum make_outcome *outcome)
{
	int ret;

	if (faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return make_named(-EEXIST, outcome);
	m->stage_fd = project_stage(m->retriever->staging_fd, m->parent->fd);
	if (m->stage_fd < 0)
		return m->stage_fd;
	ret = make_and_name(m, outcome);
	if (m->stage_fd != m->retriever->staging_fd)
		close(m->stage_fd);
	return ret;
}

static int create_one(struct new_object *m, enum make_outcome *outcome)
{
	int ret = 0;

	if (m->parent->prior_fd >= 0 && !new_object_is_closed(m) &&
	    ((m->parent->listing && take_directory(m, outcome)) || take_prior(m, outcome, &ret)))
		return ret;
	*outcome = MAKE_DONE;
	if (new_object_must_ask(m)) {
		*outcome = !m->absent && faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0
				   ? MAKE_THERE
				   : MAKE_ASK;
		return 0;
	}
	return S_ISREG(m->entry->attr.mode) ? create_file(m, outcome) : create_staged(m, outcome);
}

/* The first name makes .migrate/links/NUMBER-OBJECT... */
static int create_provisional(const struct new_object *m, const char *id, bool apart,
			      enum make_outcome *outcome)
{
	struct new_object provisional = *m;
	struct make_parent parent = *m->parent;
	int ret;

	if (apart) /* what the prior copy has may be that of the other project by now */
		parent.prior_fd = -1;
	provisional.parent = &parent;
	provisional.dir_fd = m->retriever->links_fd;
	provisional.as = id;
	provisional.absent = false;
	ret = create_one(&provisional, outcome);
	attributes_clear(&provisional.carried);
	return ret;
}

/* Whether the directory was removed: then no object can get a name there. */
static bool is_removed(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) == 0 && st.st_nlink == 0;
}

static int add_apart_loss(const struct new_object *m, const char *why)
{
	g_autofree char *dir = retriever_fd_path(m->parent->fd);
	g_autofree char *path = g_build_filename(dir, m->entry->name, NULL);
	g_autofree char *text = g_strdup_printf(
		"on the old server it has the number of a file with other names, and may be that "
		"one; here it is a file of its own: %s",
		why);

	return losses_add(m->retriever->losses, LOSS_SOURCE, path, text);
}

/*
 * No name in this directory can be one of links/ID, which is of another project: the names of each
 * project are a file of their own, and the report says so.
 */
static int part_by_project(const struct new_object *m, char id[LINK_NAME_LEN])
{
	const struct project project = project_of(m->parent->fd);
	g_autofree char *dir = retriever_fd_path(m->parent->fd);
	g_autofree char *path = g_strconcat(dir, "/", m->entry->name, NULL);

	if (!project.inherited)
		return -EXDEV;
	links_name_apart(id, project.id, &m->entry->attr);
	return losses_add(
		m->retriever->losses, LOSS_LINK, path,
		"a file with several names, of which others are in another project of the "
		"new file system, where names of one file cannot be: it is a file of its "
		"own");
}

/* ... and every name links to it. */
static int create_linked(struct new_object *m, enum make_outcome *outcome)
{
	const struct link_id object = links_id(&m->entry->attr);
	int links = m->retriever->links_fd, ret;
	char id[LINK_NAME_LEN];
	const char *why;
	bool apart = false;

	if (faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return make_named(-EEXIST, outcome);
	why = links_begin(m->retriever, m->entry);
	ret = why ? add_apart_loss(m, why) : 0;
	if (ret)
		return ret;
	links_name(id, &object);
	for (;;) {
		*outcome = MAKE_DONE;
		if (linkat(links, id, m->dir_fd, m->as, 0) == 0) {
			m->linked = true;
			return m->parent->prior_fd < 0
				       ? 0
				       : prior_settle(m->retriever, m->parent->prior_fd,
						      m->parent->path, m->entry, m->dir_fd, m->as);
		}
		/* as many as there can be: this name takes the provisional's */
		if (errno == EMLINK &&
		    renameat2(links, id, m->dir_fd, m->as, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno == EXDEV && !apart) {
			apart = true;
			ret = part_by_project(m, id);
			if (ret)
				return ret;
			continue;
		}
		if (errno != ENOENT)
			return make_named(-errno, outcome);
		if (is_removed(m->dir_fd))
			return -ENOENT;
		ret = create_provisional(m, id, apart, outcome);
		if (ret || *outcome >= MAKE_ASK)
			return ret;
	}
}

int create_object(struct new_object *m, enum make_outcome *outcome)
{
	int ret = !S_ISDIR(m->entry->attr.mode) && m->entry->attr.nlink > 1
			  ? create_linked(m, outcome)
			  : create_one(m, outcome);

	attributes_clear(&m->carried);
	return ret;
}
