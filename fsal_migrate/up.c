/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * MDCACHE knows the attributes that a directory had before it was filled, its number of links
 * among them, and would show them until they expire.  An upcall must not be made inside an
 * operation, and waits until the export is in service: so it is a job of the pool.
 */
#include "fsal_migrate/up.h"

#include <stdlib.h>
#include <string.h>

#include "fsal_up.h"
#include "fsal_migrate/pool.h"

struct invalidation {
	struct mg_job job;
	struct mg_export *export; /* pending */
	uint32_t flags;
	void (*done)(void *arg);
	void *arg;
	size_t len;
	char key[];
};

static void invalidate(struct mg_job *job)
{
	struct invalidation *todo = container_of(job, struct invalidation, job);
	struct fsal_up_vector *up = (struct fsal_up_vector *)todo->export->fsal.up_ops;
	struct gsh_buffdesc key = {.addr = todo->key, .len = todo->len};

	up_ready_wait(up);
	up->invalidate(up, &key, todo->flags);
	if (todo->done)
		todo->done(todo->arg);
	mg_pending_end(todo->export);
	free(todo);
}

/* An export through which MDCACHE can be told: any export of the volume, as the module has one
 * cache. */
static struct mg_export *notified_export(struct mg_volume *volume)
{
	struct mg_export *export;

	pthread_mutex_lock(&volume->lock);
	export = glist_first_entry(&volume->export_list, struct mg_export, link);
	if (export && !export->closing)
		export->pending++;
	else
		export = NULL;
	pthread_mutex_unlock(&volume->lock);
	return export;
}

void mg_up_invalidate(struct mg_volume *volume, const void *key, size_t len, bool names,
		      void (*done)(void *arg), void *arg)
{
	struct invalidation *todo = calloc(1, sizeof(*todo) + len);
	struct mg_export *export = todo ? notified_export(volume) : NULL;

	if (!export) { /* the attributes expire by themselves */
		free(todo);
		if (done)
			done(arg);
		return;
	}
	todo->job.run = invalidate;
	todo->export = export;
	todo->done = done;
	todo->arg = arg;
	todo->flags = FSAL_UP_INVALIDATE_ATTRS;
	if (names)
		todo->flags |= FSAL_UP_INVALIDATE_CONTENT | FSAL_UP_INVALIDATE_DIR_POPULATED |
			       FSAL_UP_INVALIDATE_DIR_CHUNKS;
	todo->len = len;
	memcpy(todo->key, key, len);
	mg_pool_submit(&todo->job);
}
