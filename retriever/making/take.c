/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/take.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/project.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/prior.h"
#include "retriever/objects/old_handles.h"

/* Sets the attributes while the object is still in the prior copy, where no client can see it. */
static int set_prior_attributes(struct new_object *m, int fd)
{
	const struct source_attr *attr = &m->entry->attr;
	const bool content = m->retriever->prior->content && attr->size;
	int ret;

	if (fd < 0) {
		ret = attributes_set_node(m->retriever, m->parent->prior_fd, m->entry->name, attr,
					  m->xattrs, &m->carried);
		return ret ? ret
			   : attributes_report(m->retriever, &m->carried, m->parent->fd,
					       m->entry->name);
	}
	ret = attributes_strip(fd);
	if (!ret) /* attributes may need the room; without it the file is fetched */
		ret = copy_mark_remove(fd);
	if (!ret && content)
		ret = new_object_keep_room(m, fd);
	if (!ret)
		ret = new_object_set_attributes(m, fd, false);
	/* last: with a record it is taken as it is, when a crash has cut this short */
	if (!ret && content)
		ret = new_object_put_record(m, fd, MIGRATE_REC_ADOPTED);
	return ret;
}

void take_count(const struct new_object *m)
{
	new_object_count(m);
	COUNT_ADD(m->retriever, same, 1);
	COUNT_ADD(m->retriever, made, -1);
}

void take_count_data(const struct new_object *m)
{
	COUNT_ADD(m->retriever, files_whole, 1);
	COUNT_ADD(m->retriever, bytes_whole, m->entry->attr.size);
}

static void count_taken(struct new_object *m, int found)
{
	struct retriever *retriever = m->retriever;
	bool data = S_ISREG(m->entry->attr.mode) && m->entry->attr.size;

	take_count(m);
	m->here = found != COPY_UNFINISHED &&
		  !(data && found == COPY_ALIKE && retriever->prior->content);
	if (m->here && data)
		take_count_data(m);
}

/* FALSE: it is to be made anew. */
static bool settle(const struct new_object *m, int *ret)
{
	*ret = prior_settle(m->retriever, m->parent->prior_fd, m->parent->path, m->entry, m->dir_fd,
			    m->as);
	return *ret != 0;
}

/* Gives the object the project of its new directory.  An object with several names comes by way of
 * links/, into which an object of any project can be moved. */
static int give_project(const struct new_object *m)
{
	struct project project;

	if (m->dir_fd == m->parent->fd)
		return 0;
	project = project_of(m->parent->fd);
	return project.inherited ? project_give(m->parent->prior_fd, m->entry->name, project) : 0;
}

/* found: COPY_ALIKE or better.  *other: it cannot be moved here. */
static int take_alike(struct new_object *m, int found, int fd, bool *other,
		      enum make_outcome *outcome)
{
	uint64_t added = 0;
	int ret;

	if (found == COPY_ALIKE && new_object_lacks_attributes(m)) {
		*outcome = MAKE_ASK_BARE;
		return 0;
	}
	ret = found == COPY_ALIKE ? set_prior_attributes(m, fd) : 0;
	if (!ret)
		added = old_handles_add(m->retriever, m->entry, m->parent->prior_fd,
					m->entry->name);
	if (!ret)
		ret = give_project(m);
	if (!ret)
		ret = prior_take(m->parent->prior_fd, m->entry->name, fd, m->dir_fd, m->as);
	/* a link or a node of another project; the text was asked for then (make_is_known()) */
	*other = ret == -EXDEV && fd < 0 && (m->target || !S_ISLNK(m->entry->attr.mode));
	if (!ret) {
		old_handles_name(m->retriever, m->entry, added);
		count_taken(m, found);
	}
	return make_named(ret, outcome);
}

/* fd: as of prior_compare(). */
static bool take_found(struct new_object *m, int found, int fd, enum make_outcome *outcome,
		       int *ret)
{
	bool other = false;

	*ret = found < COPY_ALIKE ? MIN(found, 0) : take_alike(m, found, fd, &other, outcome);
	if (found < 0 || (found >= COPY_ALIKE && !other))
		return true;
	if (found == COPY_NOTHING)
		return false;
	if (!new_object_must_ask(m))
		return settle(m, ret);
	*outcome = MAKE_ASK;
	*ret = 0;
	return other;
}

bool take_prior(struct new_object *m, enum make_outcome *outcome, int *ret)
{
	GMutex *lock = prior_lock(m->retriever->prior, m->as);
	bool taken = true;
	int found, fd = -1;

	*outcome = MAKE_THERE;
	*ret = 0;
	/* it is where it was until we move it */
	g_mutex_lock(lock);
	if (faccessat(m->dir_fd, m->as, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		found = prior_compare(m->retriever, m->parent->prior_fd, m->entry, m->target, &fd);
		taken = take_found(m, found, fd, outcome, ret);
	}
	if (fd >= 0)
		close(fd);
	g_mutex_unlock(lock);
	return taken;
}
