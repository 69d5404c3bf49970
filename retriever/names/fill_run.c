/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/fill_run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "retriever/copies/listed.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/prior.h"
#include "retriever/making/make.h"
#include "retriever/objects/damage.h"

static void share_seen(GSList *runs)
{
	for (GSList *l = runs; runs->next && l; l = l->next)
		if (((struct run *)l->data)->seen)
			listing_sum_share(((struct run *)l->data)->seen);
}

struct run *directory_run_new(struct object *object, enum backend_priority priority,
			      bool small_data, int *ret)
{
	struct run *run = g_slice_new0(struct run);

	run->priority = priority;
	run->trace = trace_current();
	run->small_data = small_data && priority == BACKEND_BACKGROUND;
	run->pending = 1;
	g_mutex_init(&run->lock);
	g_mutex_init(&run->work_lock);
	g_queue_init(&run->work);
	run->asked = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	run->object = object_ref(object);
	run->path = g_strdup(object->record.path);
	run->prior_fd = object->retriever->prior
				? prior_directory(object->retriever->prior, run->path)
				: -1;
	if (object->retriever->copying)
		run->seen = listing_sum_new(object->retriever, object->fd);
	run->names_listed = listed_array();
	run->fileid = object->record.fileid;
	failed_names_init(&run->failed_names, object->retriever->errors, object->fd);
	/* dummies may be made while this fill is on its way: it always looks for them */
	run->named = (object->record.flags & MIGRATE_REC_NAMED) ||
		     object->retriever->config->stub_attributes == STUB_LAZY;
	*ret = object_source(object, &run->source);
	run->req.object = run->source;
	directory_of(object)->runs = g_slist_prepend(directory_of(object)->runs, run);
	share_seen(directory_of(object)->runs);
	return run;
}

void directory_run_free(struct run *run)
{
	source_object_clear(&run->source);
	failed_names_clear(&run->failed_names);
	listing_sum_free(run->seen);
	g_clear_pointer(&run->names_listed, g_array_unref);
	g_clear_pointer(&run->not_here, g_array_unref);
	if (run->prior_fd >= 0)
		close(run->prior_fd);
	g_hash_table_unref(run->asked);
	g_free(run->path);
	sorted_free(run->order);
	g_clear_pointer(&run->rest, backend_batch_free);
	g_mutex_clear(&run->lock);
	g_mutex_clear(&run->work_lock);
	object_unref(run->object);
	g_slice_free(struct run, run);
}

#define DFS_LINK                                                                                   \
	"it is on another server (a DFS link): put an empty directory in its place on the old "    \
	"server, then retry; what it leads to may be a volume of its own"

const char *directory_run_refusal(const struct run *run, int status)
{
	if (run->req.why)
		return run->req.why;
	switch (status) {
	case -EACCES:
	case -EPERM:
		return "the old server does not let this machine list it: give it root's rights "
		       "there (no_root_squash), or make the directory readable";
	case -ELOOP:
		return "the old server's listing of it does not end: repair the directory there";
	case -EIO:
		if (damage_found(run->object->retriever))
			return DAMAGE_REASON;
		return "the new server's file system lost what was listed: see its kernel's log";
	case -ENOSPC:
		return "no space (or no inode) on the new server's file system for its names";
	default:
		return status == -ENOTSUP && !run->source.handle_len
			       ? DFS_LINK
			       : "the old server could not list the directory";
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

void directory_run_asks(struct run *run, const struct source_attr *listed)
{
	struct source_attr *attr = g_memdup2(listed, sizeof(*listed));

	g_mutex_lock(&run->work_lock);
	g_hash_table_replace(run->asked, &attr->fileid, attr);
	g_mutex_unlock(&run->work_lock);
}

void directory_run_got(struct run *run, const struct source_attr *listed)
{
	g_mutex_lock(&run->work_lock);
	g_hash_table_remove(run->asked, &listed->fileid);
	g_mutex_unlock(&run->work_lock);
}

void directory_atime_before(struct object *object, struct source_attr *attr)
{
	g_mutex_lock(&object->lock);
	for (GSList *l = directory_of(object)->runs; l; l = l->next) {
		struct run *run = l->data;
		const struct source_attr *listed;

		g_mutex_lock(&run->work_lock);
		listed = g_hash_table_lookup(run->asked, &attr->fileid);
		if (listed && source_attr_same(listed, attr)) {
			attr->atime = listed->atime;
			attr->far_atime = listed->far_atime;
		}
		g_mutex_unlock(&run->work_lock);
	}
	g_mutex_unlock(&object->lock);
}

void directory_entry_object(const struct source_entry *entry, const char *path,
			    struct source_object *object)
{
	source_object_clear(object);
	object->handle_len = entry->handle_len;
	memcpy(object->handle, entry->handle, entry->handle_len);
	object->path = stub_child_path(path, entry->name);
}

void directory_entry_found(struct source_entry *entry, const struct backend_request *req)
{
	entry->has_attr = true;
	entry->attr = req->attr;
	entry->handle_len = req->handle_len;
	memcpy(entry->handle, req->handle, req->handle_len);
}
