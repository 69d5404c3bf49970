/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory_state.h"

#include <errno.h>
#include <sys/stat.h>

#include "volume/dummy.h"
#include "volume/errors.h"
#include "volume/jobs.h"
#include "volume/turns.h"
#include "volume/waiters.h"

/* With the lock held: every name is here.  Times first, the record last. */
static int mark_filled(struct object *object)
{
	struct migrate_record *rec = &object->record;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    migrate_timespec(migrate_record_mtime(rec))};
	int ret;

	if (object->normal || rec->state != MIGRATE_UNFILLED)
		return 0;
	if (futimens(object->fd, times) < 0)
		return -errno;
	rec->state = MIGRATE_FILLED;
	rec->error = 0;
	/* from here on the inode's mtime tells whether a client changed names (migrate_stub) */
	if (rec->flags & MIGRATE_REC_SHOWN_MTIME)
		rec->mtime = rec->shown_mtime;
	ret = object_store(object);
	if (ret)
		rec->state = MIGRATE_UNFILLED;
	else
		COUNT_ADD(object->retriever, unfilled, -1);
	return ret;
}

bool directory_names_fixed(struct object *object)
{
	bool fixed;

	g_mutex_lock(&object->lock);
	fixed = object->normal || directory_of(object)->names ||
		object->record.state != MIGRATE_UNFILLED;
	g_mutex_unlock(&object->lock);
	return fixed;
}

/* On a worker, having entered: nobody makes a name any more. */
static void complete(void *arg)
{
	struct object *object = arg;
	struct retriever *retriever = object->retriever;
	GQueue waiters = G_QUEUE_INIT;
	int ret;

	if ((object->record.flags & MIGRATE_REC_NAMED) ||
	    retriever->config->stub_attributes == STUB_LAZY)
		dummy_sweep(retriever, object->fd);
	g_mutex_lock(&object->lock);
	ret = mark_filled(object);
	directory_of(object)->names = NAMES_OPEN;
	object->when_idle = NULL;
	if (!ret) {
		object->search.failures = 0;
		waiters_take_all(object, &waiters);
	}
	g_mutex_unlock(&object->lock);
	fill_leave(object);
	if (ret) {
		object_fail(object, ret, "the directory's stub record could not be written");
	} else {
		errors_forget(retriever->errors, &object->key);
		errors_forget_names(retriever->errors, &object->key);
	}
	waiters_run(retriever, &waiters, 0);
	object_unref(object);
}

static void complete_now(struct object *object)
{
	struct directory *directory = directory_of(object);

	if (directory->names != NAMES_COMPLETE || object->turns.writing || object->turns.brackets)
		return;
	directory->names = NAMES_COMPLETING;
	object->turns.writing++;
	jobs_run(object->retriever->jobs, JOB_DEMAND, complete, object_ref(object));
}

void directory_set_complete(struct object *object)
{
	directory_of(object)->names = NAMES_COMPLETE;
	object->when_idle = complete_now;
	complete_now(object);
}
