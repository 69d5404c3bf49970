/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/later.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/source/gate.h"
#include "retriever/data/fetch.h"
#include "retriever/names/fill.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/object.h"
#include "retriever/objects/state.h"

#define TICK_MS 1000

struct later {
	struct retriever *retriever;
	guint timer;	/* 0: stopped */
	gint under_way; /* atomic: those tried, and the look at the list; who has it > 0 has ... */
	guint place;	/* ... where the look goes on */
	gint64 pause, first_pause; /* of this round, and after one in which something came */
	gint came;		   /* atomic: something has, in this round */
	atomic_llong due;	   /* g_get_monotonic_time() */
};

struct attempt {
	struct later *later;
	struct object *object; /* referenced */
};

static void tried(void *arg, int status)
{
	struct attempt *attempt = arg;
	struct later *later = attempt->later;

	if (!status)
		g_atomic_int_set(&later->came, 1);
	object_unref(attempt->object);
	g_slice_free(struct attempt, attempt);
	g_atomic_int_add(&later->under_way, -1);
}

/* Whether the object that was put off has come by another way. */
static bool needs_nothing(struct object *object)
{
	bool nothing;

	g_mutex_lock(&object->lock);
	nothing = object->normal ||
		  (is_directory(object) && object->record.state != MIGRATE_UNFILLED);
	g_mutex_unlock(&object->lock);
	return nothing;
}

static void try_again(struct later *later, const struct error_entry *entry)
{
	struct retriever *retriever = later->retriever;
	int fd = retriever_open_binding(retriever, &entry->key, O_RDONLY | O_NONBLOCK);
	struct attempt *attempt;
	struct object *object;
	int ret;

	ret = fd < 0 ? fd : object_get(retriever, fd, &object);
	if (fd >= 0)
		close(fd);
	if (ret == -ESTALE) /* clients have removed it */
		errors_forget_name(retriever->errors, &entry->key, entry->name);
	if (ret)
		return;
	if (needs_nothing(object)) {
		errors_forget_name(retriever->errors, &entry->key, entry->name);
		object_unref(object);
		return;
	}
	attempt = g_slice_new(struct attempt);
	*attempt = (struct attempt){later, object};
	g_atomic_int_inc(&later->under_way);
	if (is_directory(object))
		directory_fill(object, BACKEND_BACKGROUND, false, tried, attempt);
	else
		fetch_range(object, 0, INT64_MAX, true, tried, attempt);
}

static void end_round(struct later *later)
{
	const bool came = g_atomic_int_and((guint *)&later->came, 0);

	later->place = 0;
	later->pause = came ? later->first_pause : MIN(2 * later->pause, LATER_MAX);
	atomic_store(&later->due, g_get_monotonic_time() + later->pause);
}

static void try_some(void *arg)
{
	const struct errors_filter filter = {.code = QM_LATER};
	struct later *later = arg;
	struct error_entry entry;
	unsigned n = 0;

	for (; n < LATER_AT_A_TIME &&
	       errors_get(later->retriever->errors, &later->place, &filter, &entry);
	     n++) {
		try_again(later, &entry);
		later->place++;
		error_entry_clear(&entry);
	}
	if (n < LATER_AT_A_TIME)
		end_round(later);
	g_atomic_int_add(&later->under_way, -1);
}

static gboolean tick_later(gpointer arg)
{
	struct later *later = arg;
	struct retriever *retriever = later->retriever;

	if (g_atomic_int_get(&later->under_way) ||
	    g_get_monotonic_time() < atomic_load(&later->due) || gate_paused(retriever->gate) ||
	    retriever->copying || volume_state(retriever) != VOLUME_MIGRATING)
		return G_SOURCE_CONTINUE;
	g_atomic_int_inc(&later->under_way);
	jobs_run(retriever->jobs, JOB_BACKGROUND, try_some, later);
	return G_SOURCE_CONTINUE;
}

struct later *later_new(struct retriever *retriever, gint64 first_pause)
{
	struct later *later = g_new0(struct later, 1);

	later->retriever = retriever;
	later->pause = later->first_pause = first_pause;
	atomic_init(&later->due, g_get_monotonic_time() + first_pause);
	later->timer = g_timeout_add(TICK_MS, tick_later, later);
	return later;
}

void later_stop(struct later *later)
{
	if (later && later->timer)
		g_source_remove(later->timer);
	if (later)
		later->timer = 0;
}

void later_free(struct later *later)
{
	g_free(later);
}
