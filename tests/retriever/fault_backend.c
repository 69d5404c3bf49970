/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/fault_backend.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "lib/source/backend.h"

#define WAIT_SECONDS 30

struct rule {
	struct fault_rule what;
	struct source_object object;
	unsigned seen, hits;
	bool released, removed;
	GQueue held; /* struct faulted that are stalled */
};

struct backend_fault {
	struct backend_layer layer;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows; not held across done or submit */
	pthread_cond_t changed;
	GPtrArray *rules; /* struct rule, never removed before the end */
	GSequence *timed; /* struct faulted, by due: delayed, or to be failed at once */
	unsigned submitted[BACKEND_XATTRS + 1];
	unsigned in_flight;
	bool stop;
};

/* Stands in for the submitter. */
struct faulted {
	struct backend_fault *fault;
	struct backend_request *req;
	void (*done)(struct backend_request *req);
	void *user;
	struct rule *rule; /* NULL: none */
	const char *name;  /* of a LOOKUP, whose name is another for inner; else NULL */
	int status;	   /* not to be passed on, but completed so */
	gint64 due;
};

static gint by_due(gconstpointer a, gconstpointer b, gpointer user)
{
	gint64 x = ((const struct faulted *)a)->due, y = ((const struct faulted *)b)->due;

	return x < y ? -1 : x > y;
}

/* ---- matching ---- */

static bool name_matches(const struct fault_rule *what, const struct backend_request *req)
{
	const char *name = req->op == BACKEND_LOOKUP ? req->name : req->object.path;
	const char *slash;

	if (!what->name)
		return true;
	if (!name)
		return false;
	slash = req->op == BACKEND_LOOKUP ? NULL : strrchr(name, '/');
	return strcmp(slash ? slash + 1 : name, what->name) == 0;
}

static bool matches(const struct rule *rule, const struct backend_request *req)
{
	const struct fault_rule *what = &rule->what;

	if (rule->removed || !(what->ops & (1u << req->op)))
		return false;
	if (what->priorities && !(what->priorities & (1u << req->priority)))
		return false;
	if (what->object &&
	    (rule->object.handle_len != req->object.handle_len ||
	     memcmp(rule->object.handle, req->object.handle, rule->object.handle_len) != 0))
		return false;
	if (what->end && (req->op != BACKEND_READ || req->offset >= what->end ||
			  req->offset + req->count <= what->offset))
		return false;
	if (what->action == FAULT_FOLD && g_ascii_strcasecmp(what->entry, req->name) != 0)
		return false;
	return name_matches(what, req);
}

/* The rule to apply, counted as applied.  With the lock. */
static struct rule *choose(struct backend_fault *fault, const struct backend_request *req)
{
	for (guint i = 0; i < fault->rules->len; i++) {
		struct rule *rule = fault->rules->pdata[i];

		if (!matches(rule, req) || (rule->what.times && rule->hits >= rule->what.times))
			continue;
		if (rule->seen++ < rule->what.skip)
			continue;
		rule->hits++;
		pthread_cond_broadcast(&fault->changed);
		return rule;
	}
	return NULL;
}

/* ---- requests ---- */

static void change(const struct fault_rule *what, struct source_attr *attr)
{
	attr->size = (uint64_t)((int64_t)attr->size + what->size);
	attr->mtime += what->mtime;
	attr->fileid += what->fileid;
}

static void spoil(const struct fault_rule *what, struct backend_request *req)
{
	if (what->action == FAULT_SHORT && req->data_len > what->bytes) {
		req->data_len = what->bytes;
		req->eof = false;
	}
	if (what->action == FAULT_BARE && req->op == BACKEND_READ) {
		req->has_attr = false;
		memset(&req->attr, 0xee, sizeof(req->attr));
	}
	for (unsigned i = 0; what->action == FAULT_REFUSE && req->batch && i < what->count; i++)
		backend_batch_refuse(req->batch, g_strdup_printf("bad/%u", i), QM_NAME_IMPOSSIBLE);
	for (guint i = 0; what->action == FAULT_HIDE && req->batch && i < req->batch->entries->len;
	     i++)
		if (!strcmp(g_array_index(req->batch->entries, struct source_entry, i).name,
			    what->entry))
			g_array_remove_index(req->batch->entries, i--);
	if (what->action != FAULT_CHANGE)
		return;
	if (req->has_attr)
		change(what, &req->attr);
	for (guint i = 0; req->batch && i < req->batch->entries->len; i++) {
		struct source_entry *entry =
			&g_array_index(req->batch->entries, struct source_entry, i);

		if (entry->has_attr)
			change(what, &entry->attr);
	}
}

static void finish(struct faulted *faulted)
{
	struct backend_fault *fault = faulted->fault;
	struct backend_request *req = faulted->req;

	req->done = faulted->done;
	req->user = faulted->user;
	g_free(faulted);
	req->done(req);
	pthread_mutex_lock(&fault->lock);
	fault->in_flight--;
	pthread_cond_broadcast(&fault->changed);
	pthread_mutex_unlock(&fault->lock);
}

static void inner_done(struct backend_request *req)
{
	struct faulted *faulted = req->user;

	if (faulted->name)
		req->name = faulted->name;
	if (faulted->rule && req->status == 0)
		spoil(&faulted->rule->what, req);
	finish(faulted);
}

static void fail(struct faulted *faulted, int status)
{
	backend_prepare(faulted->req);
	faulted->req->status = status;
	finish(faulted);
}

static void pass_on(struct faulted *faulted)
{
	struct backend *inner = faulted->fault->layer.inner;

	if (faulted->status < 0) {
		fail(faulted, faulted->status);
		return;
	}
	if (faulted->rule && faulted->rule->what.action == FAULT_FOLD) {
		faulted->name = faulted->req->name;
		faulted->req->name = faulted->rule->what.entry;
	}
	faulted->req->done = inner_done;
	faulted->req->user = faulted;
	inner->ops->submit(inner, faulted->req);
}

/* Keeps the request for later, as its rule says.  FALSE: it is to be passed on.  With the lock. */
static bool hold(struct backend_fault *fault, struct faulted *faulted)
{
	const struct fault_rule *what = &faulted->rule->what;

	if (what->action == FAULT_STALL && !faulted->rule->released) {
		g_queue_push_tail(&faulted->rule->held, faulted);
		return true;
	}
	if (what->action == FAULT_DELAY && !faulted->rule->released)
		faulted->due = g_get_monotonic_time() + (gint64)what->ms * 1000;
	else if (what->action == FAULT_ERROR)
		faulted->status = what->status;
	else
		return false;
	g_sequence_insert_sorted(fault->timed, faulted, by_due, NULL);
	pthread_cond_broadcast(&fault->changed);
	return true;
}

static void fault_submit(struct backend *backend, struct backend_request *req)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	struct faulted *faulted = g_new0(struct faulted, 1);
	bool held = false;

	*faulted =
		(struct faulted){.fault = fault, .req = req, .done = req->done, .user = req->user};
	pthread_mutex_lock(&fault->lock);
	fault->submitted[req->op]++;
	fault->in_flight++;
	faulted->rule = choose(fault, req);
	if (faulted->rule && !fault->stop)
		held = hold(fault, faulted);
	pthread_mutex_unlock(&fault->lock);
	if (!held)
		pass_on(faulted);
}

/* ---- time ---- */

/* With the lock; NULL: stop. */
static struct faulted *next_due(struct backend_fault *fault)
{
	while (!fault->stop) {
		GSequenceIter *first = g_sequence_get_begin_iter(fault->timed);
		struct faulted *faulted;
		struct timespec until;

		if (g_sequence_iter_is_end(first)) {
			pthread_cond_wait(&fault->changed, &fault->lock);
			continue;
		}
		faulted = g_sequence_get(first);
		if (faulted->due <= g_get_monotonic_time()) {
			g_sequence_remove(first);
			return faulted;
		}
		until.tv_sec = faulted->due / G_USEC_PER_SEC;
		until.tv_nsec = faulted->due % G_USEC_PER_SEC * 1000;
		pthread_cond_timedwait(&fault->changed, &fault->lock, &until);
	}
	return NULL;
}

static void *timer(void *arg)
{
	struct backend_fault *fault = arg;
	struct faulted *faulted;

	pthread_mutex_lock(&fault->lock);
	while ((faulted = next_due(fault))) {
		pthread_mutex_unlock(&fault->lock);
		pass_on(faulted);
		pthread_mutex_lock(&fault->lock);
	}
	pthread_mutex_unlock(&fault->lock);
	return NULL;
}

/* ---- rules ---- */

static struct rule *rule_of(struct backend_fault *fault, unsigned rule)
{
	g_assert(rule >= 1 && rule <= fault->rules->len);
	return fault->rules->pdata[rule - 1];
}

unsigned backend_fault_add(struct backend *backend, const struct fault_rule *what)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	struct rule *rule = g_new0(struct rule, 1);
	unsigned number;

	rule->what = *what;
	rule->what.name = g_strdup(what->name);
	if (what->object) {
		source_object_copy(&rule->object, what->object);
		rule->what.object = &rule->object;
	}
	pthread_mutex_lock(&fault->lock);
	g_ptr_array_add(fault->rules, rule);
	number = fault->rules->len;
	pthread_mutex_unlock(&fault->lock);
	return number;
}

static void hurry(gpointer data, gpointer user)
{
	struct faulted *faulted = data;

	if (faulted->rule == user)
		faulted->due = 0;
}

static void let_go(struct backend_fault *fault, unsigned number, bool remove)
{
	struct rule *rule;
	GQueue held;

	pthread_mutex_lock(&fault->lock);
	rule = rule_of(fault, number);
	rule->released = true;
	rule->removed |= remove;
	held = rule->held;
	g_queue_init(&rule->held);
	if (rule->what.action == FAULT_DELAY) {
		g_sequence_foreach(fault->timed, hurry, rule);
		g_sequence_sort(fault->timed, by_due, NULL);
		pthread_cond_broadcast(&fault->changed);
	}
	pthread_mutex_unlock(&fault->lock);
	while (held.head)
		pass_on(g_queue_pop_head(&held));
}

void backend_fault_release(struct backend *backend, unsigned rule)
{
	let_go((struct backend_fault *)backend, rule, false);
}

void backend_fault_remove(struct backend *backend, unsigned rule)
{
	let_go((struct backend_fault *)backend, rule, true);
}

unsigned backend_fault_hits(struct backend *backend, unsigned rule)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	unsigned hits;

	pthread_mutex_lock(&fault->lock);
	hits = rule_of(fault, rule)->hits;
	pthread_mutex_unlock(&fault->lock);
	return hits;
}

/* FALSE: time is up.  With the lock. */
static bool wait_change(struct backend_fault *fault, const struct timespec *until)
{
	return pthread_cond_timedwait(&fault->changed, &fault->lock, until) != ETIMEDOUT;
}

static struct timespec wait_until(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec += WAIT_SECONDS;
	return now;
}

gboolean backend_fault_wait(struct backend *backend, unsigned rule, unsigned n)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	const struct timespec until = wait_until();
	bool reached;

	pthread_mutex_lock(&fault->lock);
	while (!(reached = rule_of(fault, rule)->hits >= n) && wait_change(fault, &until))
		;
	pthread_mutex_unlock(&fault->lock);
	return reached;
}

unsigned backend_fault_submitted(struct backend *backend, unsigned ops)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	unsigned n = 0;

	pthread_mutex_lock(&fault->lock);
	for (unsigned op = 0; op < G_N_ELEMENTS(fault->submitted); op++)
		if (ops & (1u << op))
			n += fault->submitted[op];
	pthread_mutex_unlock(&fault->lock);
	return n;
}

unsigned backend_fault_in_flight(struct backend *backend)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	unsigned n;

	pthread_mutex_lock(&fault->lock);
	n = fault->in_flight;
	pthread_mutex_unlock(&fault->lock);
	return n;
}

gboolean backend_fault_wait_idle(struct backend *backend)
{
	struct backend_fault *fault = (struct backend_fault *)backend;
	const struct timespec until = wait_until();
	bool idle;

	pthread_mutex_lock(&fault->lock);
	while (!(idle = fault->in_flight == 0) && wait_change(fault, &until))
		;
	pthread_mutex_unlock(&fault->lock);
	return idle;
}

/* ---- the table ---- */

static void cancel(gpointer data, gpointer user)
{
	fail(data, -ECANCELED);
}

static void rule_free(gpointer data)
{
	struct rule *rule = data;

	g_free((char *)rule->what.name);
	source_object_clear(&rule->object);
	g_free(rule);
}

static void fault_close(struct backend *backend)
{
	struct backend_fault *fault = (struct backend_fault *)backend;

	pthread_mutex_lock(&fault->lock);
	fault->stop = true;
	pthread_cond_broadcast(&fault->changed);
	pthread_mutex_unlock(&fault->lock);
	pthread_join(fault->thread, NULL);
	/* Nothing is held any more from now on. */
	g_sequence_foreach(fault->timed, cancel, NULL);
	g_sequence_free(fault->timed);
	for (guint i = 0; i < fault->rules->len; i++) {
		struct rule *rule = fault->rules->pdata[i];

		while (rule->held.head)
			fail(g_queue_pop_head(&rule->held), -ECANCELED);
	}
	fault->layer.inner->ops->close(fault->layer.inner);
	g_ptr_array_free(fault->rules, TRUE);
	pthread_cond_destroy(&fault->changed);
	pthread_mutex_destroy(&fault->lock);
	g_free(fault);
}

static const struct backend_ops fault_ops = {
	.scheme = "fault",
	.close = fault_close,
	.submit = fault_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = backend_layer_carries,
	.not_carried = backend_layer_not_carried,
};

struct backend *backend_fault_new(struct backend *inner)
{
	struct backend_fault *fault = g_new0(struct backend_fault, 1);
	pthread_condattr_t attr;

	fault->layer.base.ops = &fault_ops;
	fault->layer.inner = inner;
	fault->rules = g_ptr_array_new_with_free_func(rule_free);
	fault->timed = g_sequence_new(NULL);
	pthread_mutex_init(&fault->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fault->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&fault->thread, NULL, timer, fault) != 0)
		g_error("no thread for the fault timer");
	return &fault->layer.base;
}
