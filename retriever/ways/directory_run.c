/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory_run.h"

#include <unistd.h>

#include "volume/prior.h"
#include "volume/seen.h"

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
	run->object = object_ref(object);
	run->path = g_strdup(object->record.path);
	run->prior_fd = object->retriever->prior
				? prior_directory(object->retriever->prior, run->path)
				: -1;
	if (object->retriever->copying)
		run->seen = seen_new(object->fd);
	run->fileid = object->record.fileid;
	failed_names_init(&run->failed_names, object->retriever->errors, object->fd);
	/* dummies may be made while this fill is on its way: it always looks for them */
	run->named = (object->record.flags & MIGRATE_REC_NAMED) ||
		     object->retriever->config->stub_attributes == STUB_LAZY;
	*ret = object_source(object, &run->source);
	run->req.object = run->source;
	directory_of(object)->runs = g_slist_prepend(directory_of(object)->runs, run);
	return run;
}

void directory_run_free(struct run *run)
{
	source_object_clear(&run->source);
	failed_names_clear(&run->failed_names);
	seen_free(run->seen);
	if (run->prior_fd >= 0)
		close(run->prior_fd);
	g_free(run->path);
	sorted_free(run->order);
	g_clear_pointer(&run->rest, backend_batch_free);
	g_mutex_clear(&run->lock);
	g_mutex_clear(&run->work_lock);
	object_unref(run->object);
	g_slice_free(struct run, run);
}
