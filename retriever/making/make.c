/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/making/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/project.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/copies/prior.h"
#include "retriever/making/create.h"
#include "retriever/making/dummy.h"
#include "retriever/making/refresh.h"
#include "retriever/objects/links.h"
#include "retriever/objects/old_handles.h"

/* A dummy may be of another project than its directory by now. */
static int exchange_names(const struct new_object *m, int staging, const char *name)
{
	const struct project project = project_of(m->parent->fd);
	int ret = renameat2(staging, name, m->dir_fd, m->as, RENAME_EXCHANGE) < 0 ? -errno : 0;

	if (ret != -EXDEV || !project.inherited)
		return ret;
	ret = project_give(m->dir_fd, m->as, project);
	if (!ret && renameat2(staging, name, m->dir_fd, m->as, RENAME_EXCHANGE) < 0)
		ret = -errno;
	return ret;
}

/*
 * In one step: a name that was a dummy is never gone, or a lookup in a directory whose names are
 * all here would be told so.  -EAGAIN: it is no dummy any more.  ZFS's log takes with a rename what
 * was done before to the object, and not with an exchange: so what is exchanged was renamed once.
 */
static int replace_in(struct new_object *m, int staging, enum make_outcome *outcome)
{
	struct new_object staged = *m;
	char name[NAMELESS_LEN];
	int ret;

	nameless_stage(m->retriever, name);
	staged.dir_fd = staging;
	staged.as = name;
	ret = create_object(&staged, outcome);
	if (!ret && *outcome == MAKE_THERE)
		return -EEXIST;
	if (ret || *outcome != MAKE_DONE)
		return ret;
	ret = exchange_names(m, staging, name);
	if (!ret)
		m->linked = staged.linked;
	unlinkat(staging, name, ret && S_ISDIR(m->entry->attr.mode) ? AT_REMOVEDIR : 0);
	return ret;
}

static int replace_dummy(struct new_object *m, enum make_outcome *outcome)
{
	int staging, ret;

	if (!dummy_is(m->dir_fd, m->as))
		return -EAGAIN;
	staging = project_stage(m->retriever->staging_fd, m->parent->fd);
	ret = staging < 0 ? staging : replace_in(m, staging, outcome);
	if (staging >= 0 && staging != m->retriever->staging_fd)
		close(staging);
	return ret;
}

bool make_is_known(struct retriever *retriever, const struct make_parent *parent,
		   const struct source_entry *entry)
{
	const struct new_object m = {.retriever = retriever,
				     .parent = parent,
				     .entry = entry,
				     .dir_fd = parent->fd,
				     .as = entry->name};
	struct stat st;

	if (retriever->copying)
		return refresh_compare(&m, &st) == COPY_SAME;
	if (parent->prior_fd >= 0 && !project_of(parent->fd).inherited &&
	    prior_compare(retriever, parent->prior_fd, entry, NULL, NULL) == COPY_SAME)
		return true;
	return faccessat(parent->fd, entry->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       !(parent->named && dummy_is(parent->fd, entry->name));
}

static int make_or_replace(struct new_object *m, enum make_outcome *outcome)
{
	struct retriever *retriever = m->retriever;
	int ret;

	do {
		ret = retriever->copying ? refresh_entry(m, outcome) : create_object(m, outcome);
		if (ret || *outcome != MAKE_THERE || !m->parent->named ||
		    !dummy_is(m->parent->fd, m->entry->name))
			break;
		g_mutex_lock(&retriever->dummy_lock);
		ret = replace_dummy(m, outcome);
		g_mutex_unlock(&retriever->dummy_lock);
	} while (ret == -EAGAIN);
	return ret;
}

int make_object(struct retriever *retriever, const struct make_parent *parent,
		const struct source_entry *entry, const char *target,
		const struct source_xattrs *xattrs, enum make_outcome *outcome)
{
	struct new_object m = {.retriever = retriever,
			       .parent = parent,
			       .entry = entry,
			       .target = target,
			       .xattrs = xattrs,
			       .dir_fd = parent->fd,
			       .as = entry->name};
	const int ret = make_or_replace(&m, outcome);
	const bool done = !ret && *outcome == MAKE_DONE, there = !ret && *outcome == MAKE_THERE;

	if (there || m.linked)
		old_handles_name_again(retriever, entry, parent->fd, entry->name);
	if (done && m.linked)
		links_count(retriever, &entry->attr);
	if (parent->lacking && S_ISREG(entry->attr.mode) && !m.here && (done || there))
		g_atomic_int_inc(parent->lacking);
	return ret;
}
