/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/trace.h"

#include <pthread.h>
#include <stdatomic.h>

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define STAP_PROBE8(...)
#endif

#define WATCHED (10 * G_TIME_SPAN_SECOND) /* since the ring was last read */

static struct {
	pthread_mutex_t lock; /* a leaf; guards what follows */
	struct trace_event events[TRACE_EVENTS];
	uint64_t next;
	gint64 asked;
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool watched; /* the background's events are wanted */

static _Thread_local struct trace_id current;

const char *trace_step_name(enum trace_step step)
{
#define NAME(upper, lower) [TRACE_##upper] = #lower,
	static const char *const names[] = {TRACE_STEPS(NAME)};
#undef NAME

	return names[step];
}

char *trace_peer(const struct trace_id *id)
{
	return id->peer ? g_strdup_printf("%s %" G_GUINT32_FORMAT, id->peer, id->pid)
			: g_strdup("-");
}

struct trace_id trace_current(void)
{
	return current;
}

struct trace_id trace_enter(struct trace_id id)
{
	struct trace_id before = current;

	current = id;
	return before;
}

static void fire_probe(enum trace_step step, const struct trace_id *id, const char *what,
		       uint64_t offset, uint64_t length, uint64_t number, int result)
{
#define PROBE(upper, lower)                                                                        \
	case TRACE_##upper:                                                                        \
		STAP_PROBE8(quickmigrate, lower, id->peer, id->pid, id->request, what, offset,     \
			    length, number, result);                                               \
		break;

	switch (step) {
		TRACE_STEPS(PROBE)
	default:
		break;
	}
#undef PROBE
}

/* GLib formats a line before it looks whether anybody wants it. */
static bool logs(void)
{
	static gsize known; /* 1: no, 2: yes */

	if (g_once_init_enter(&known))
		g_once_init_leave(&known, g_getenv("G_MESSAGES_DEBUG") ? 2 : 1);
	return known == 2;
}

static void write_log(const struct trace_event *event)
{
	g_autofree char *peer = trace_peer(&event->id);

	g_debug("%s:%" G_GUINT64_FORMAT " %s %s %" G_GUINT64_FORMAT "+%" G_GUINT64_FORMAT
		" number %" G_GUINT64_FORMAT " result %d",
		peer, event->id.request, trace_step_name(event->step), event->what, event->offset,
		event->length, event->number, event->result);
}

static void keep_event(struct trace_event *event)
{
	event->time = g_get_real_time();
	pthread_mutex_lock(&ring.lock);
	if (event->time - ring.asked > WATCHED)
		atomic_store_explicit(&watched, false, memory_order_relaxed);
	ring.events[ring.next++ % TRACE_EVENTS] = *event;
	pthread_mutex_unlock(&ring.lock);
}

void trace_event(enum trace_step step, const struct trace_id *id, const char *what, uint64_t offset,
		 uint64_t length, uint64_t number, int result)
{
	bool kept = (id->peer && !id->background) ||
		    atomic_load_explicit(&watched, memory_order_relaxed);

	fire_probe(step, id, what, offset, length, number, result);
	if (kept || logs()) {
		struct trace_event event = {.id = *id,
					    .step = step,
					    .result = result,
					    .what = what,
					    .offset = offset,
					    .length = length,
					    .number = number};

		if (logs())
			write_log(&event);
		if (kept)
			keep_event(&event);
	}
}

uint64_t trace_read(uint64_t start, struct trace_event *events, unsigned max, unsigned *n)
{
	uint64_t oldest;

	pthread_mutex_lock(&ring.lock);
	ring.asked = g_get_real_time();
	atomic_store_explicit(&watched, true, memory_order_relaxed);
	oldest = ring.next > TRACE_EVENTS ? ring.next - TRACE_EVENTS : 0;
	if (start < oldest || start > ring.next) /* another process's ring */
		start = oldest;
	for (*n = 0; *n < max && start + *n < ring.next; ++*n)
		events[*n] = ring.events[(start + *n) % TRACE_EVENTS];
	pthread_mutex_unlock(&ring.lock);
	return start;
}
