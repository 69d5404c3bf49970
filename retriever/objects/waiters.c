/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/waiters.h"

#include <errno.h>

#include "lib/base/flags.h"
#include "lib/source/gate.h"
#include "retriever/objects/errors.h"

#define RANGE_FAILURES_MAX 64 /* of one waiter: a file that cannot be read at all */

static void count_waiter(struct retriever *retriever, bool background, gint n)
{
	if (background)
		COUNT_ADD(retriever, background_waiting, n);
	else
		COUNT_ADD(retriever, demand_waiting, n);
}

void waiters_add(struct object *object, uint64_t start, uint64_t end, bool background,
		 object_done_fn done, void *arg)
{
	struct waiter *w = g_slice_new0(struct waiter);

	w->start = start;
	w->end = end;
	w->background = background;
	w->trace = trace_current();
	w->done = done;
	w->arg = arg;
	count_waiter(object->retriever, background, 1);
	g_queue_push_tail(&object->waiters, w);
}

static void move_link(GQueue *from, GList *link, GQueue *to)
{
	g_queue_unlink(from, link);
	g_queue_push_tail_link(to, link);
}

void waiters_take(struct object *object, GQueue *out)
{
	GList *next;

	if (is_directory(object))
		return;
	for (GList *l = object->waiters.head; l; l = next) {
		struct waiter *w = l->data;

		next = l->next;
		if (object_has(object, w->start, w->end))
			move_link(&object->waiters, l, out);
	}
}

void waiters_take_all(struct object *object, GQueue *out)
{
	while (object->waiters.head)
		move_link(&object->waiters, object->waiters.head, out);
}

void waiters_run(struct retriever *retriever, GQueue *waiters, int status)
{
	struct waiter *w;

	while ((w = g_queue_pop_head(waiters))) {
		count_waiter(retriever, w->background, -1);
		w->done(w->arg, status ? status : w->status);
		g_slice_free(struct waiter, w);
	}
}

bool waiters_cancel(struct object *object, void *arg,
		    bool (*is_of)(const struct backend_request *req, const void *object))
{
	struct retriever *retriever = object->retriever;
	GQueue found = G_QUEUE_INIT;
	bool waited_for;

	g_mutex_lock(&object->lock);
	for (GList *l = object->waiters.head; l; l = l->next) {
		if (((struct waiter *)l->data)->arg == arg) {
			move_link(&object->waiters, l, &found);
			break;
		}
	}
	g_mutex_unlock(&object->lock);
	if (g_queue_is_empty(&found))
		return false;
	waiters_run(retriever, &found, -ECANCELED);
	g_mutex_lock(&object->lock);
	waited_for = !g_queue_is_empty(&object->waiters);
	g_mutex_unlock(&object->lock);
	if (!waited_for)
		gate_withdraw(retriever->gate, is_of, object);
	return true;
}

/* Lock held. */
static void mark_failed(struct object *object, int status)
{
	if (!object->normal && status != -ECANCELED && object->record.error != -status) {
		object->record.error = -status;
		object_store(object);
	}
}

/* Lock held: whether it can do without [start, end), which failed. */
static bool go_on_behind(struct object *object, struct waiter *w, uint64_t end, int status)
{
	if (!w->background || status == -EAGAIN || w->end <= end ||
	    ++w->failures > RANGE_FAILURES_MAX)
		return false;
	w->start = end;
	if (!w->status)
		w->status = status;
	return !object_has(object, w->start, w->end);
}

bool object_fail_range(struct object *object, uint64_t start, uint64_t end, int status,
		       enum error_code error, GQueue *out)
{
	bool left;
	GList *next;

	mark_failed(object, status);
	for (GList *l = object->waiters.head; l; l = next) {
		struct waiter *w = l->data;

		next = l->next;
		if (w->start >= end || w->end <= start || go_on_behind(object, w, end, status))
			continue;
		w->status = status;
		move_link(&object->waiters, l, out);
	}
	left = !g_queue_is_empty(&object->waiters);
	if (!object->normal)
		errors_add_fd(object->retriever->errors, object->fd, status, error);
	return left;
}

static void fail_locked(struct object *object, int status, enum error_code error, const char *about,
			GQueue *out)
{
	enum error_code flagged = status == -EPERM ? flags_error(object->fd) : QM_NONE;

	if (flagged) {
		error = flagged;
		status = -EREMOTEIO;
	}
	mark_failed(object, status);
	for (GList *l = object->waiters.head; l; l = l->next)
		((struct waiter *)l->data)->status = status;
	waiters_take_all(object, out);
	/* under the lock, so that one that becomes whole leaves the list after it came */
	if (status != -ECANCELED && !object->normal)
		errors_add_about(object->retriever->errors, object->fd, status, error, about);
}

void object_fail_locked(struct object *object, int status, enum error_code error, GQueue *out)
{
	fail_locked(object, status, error, NULL, out);
}

void object_note_later(struct object *object)
{
	g_mutex_lock(&object->lock);
	mark_failed(object, -EAGAIN);
	if (!object->normal)
		errors_add_fd(object->retriever->errors, object->fd, -EAGAIN, QM_LATER);
	g_mutex_unlock(&object->lock);
}

void object_forget_later(struct object *object)
{
	if (object->normal || object->record.error != EAGAIN)
		return;
	object->record.error = 0;
	object_store(object);
	errors_forget(object->retriever->errors, &object->key);
}

void object_fail_about(struct object *object, int status, enum error_code error, const char *about)
{
	GQueue waiters = G_QUEUE_INIT;

	g_mutex_lock(&object->lock);
	fail_locked(object, status, error, about, &waiters);
	g_mutex_unlock(&object->lock);
	waiters_run(object->retriever, &waiters, 0);
}

void object_fail(struct object *object, int status, enum error_code error)
{
	object_fail_about(object, status, error, NULL);
}
