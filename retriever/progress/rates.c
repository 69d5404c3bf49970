/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/rates.h"

#include <math.h>
#include <sys/statvfs.h>

#include "lib/config/limits.h"
#include "lib/report/losses.h"
#include "lib/source/cap.h"
#include "lib/source/gate.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/old_handles.h"
#include "retriever/progress/estimate.h"
#include "retriever/progress/history.h"
#include "retriever/progress/limits_set.h"
#include "retriever/progress/counters_file.h"
#include "retriever/progress/source_silent.h"

#define SAMPLES	   10
#define FULL_BYTES (16 << 20) /* file systems keep some for themselves */

struct sample {
	gint64 when, files, bytes, requests;
};

struct rates {
	struct retriever *retriever;
	struct sample samples[SAMPLES]; /* a ring */
	unsigned n, next;
	guint timer;
	gint saving; /* a save is queued or runs */
	struct estimate *estimate;
	struct sample last; /* of the background at work; when 0: it was not */
};

static struct sample current_sample(struct rates *rates)
{
	struct sample s = {g_get_monotonic_time(), COUNT_GET(rates->retriever, files_whole),
			   COUNT_GET(rates->retriever, bytes_fetched),
			   (gint64)gate_passed(rates->retriever->gate)};

	return s;
}

/* Saves files that are only caches, not on the main thread, because the disk may be slow. */
static void save(void *arg)
{
	struct rates *rates = arg;

	counters_save(rates->retriever, false);
	history_save(rates->retriever);
	limits_set_save(rates->retriever);
	errors_save(rates->retriever->errors);
	losses_sync(rates->retriever->losses);
	old_handles_save(rates->retriever);
	g_atomic_int_set(&rates->saving, 0);
}

/* Whether the background could bring something. */
static bool is_at_work(struct retriever *retriever)
{
	return COUNT_GET(retriever, crawlers) > 0 && !gate_paused(retriever->gate) &&
	       !retriever->backend->ops->away(retriever->backend);
}

static void measure(struct rates *rates, const struct sample *s)
{
	const struct sample *last = &rates->last;
	bool works = rates->retriever->backend && is_at_work(rates->retriever);

	if (works && last->when)
		estimate_add(rates->estimate, (double)(s->when - last->when) / G_USEC_PER_SEC,
			     s->files - last->files, s->bytes - last->bytes,
			     s->requests - last->requests);
	rates->last = works ? *s : (struct sample){0};
}

static gboolean tick_rate(gpointer arg)
{
	struct rates *rates = arg;
	struct sample s = current_sample(rates);

	measure(rates, &s);
	rates->samples[rates->next] = s;
	rates->next = (rates->next + 1) % SAMPLES;
	rates->n = MIN(rates->n + 1, SAMPLES);
	history_sample(rates->retriever);
	limits_set_tick(rates->retriever);
	source_silent_tick(rates->retriever);
	if (g_atomic_int_compare_and_exchange(&rates->saving, 0, 1))
		jobs_run(rates->retriever->jobs, JOB_FLUSH, save, rates);
	return G_SOURCE_CONTINUE;
}

static int64_t per_second(struct rates *rates, bool bytes)
{
	struct sample last = current_sample(rates), first;
	double seconds, moved;

	if (rates->n == 0)
		return 0;
	first = rates->samples[(rates->next + SAMPLES - rates->n) % SAMPLES];
	seconds = (last.when - first.when) / (double)G_USEC_PER_SEC;
	if (seconds <= 0)
		return 0;
	moved = bytes ? last.bytes - first.bytes : last.files - first.files;
	return MAX(moved, 0) / seconds; /* counters go down, too, when a run of a copy begins */
}

int64_t rates_files(struct rates *rates)
{
	return per_second(rates, false);
}

int64_t rates_bytes(struct rates *rates)
{
	return per_second(rates, true);
}

static int64_t stretch(struct rates *rates, int64_t seconds)
{
	struct retriever *r = rates->retriever;
	struct limits limited = {
		.config = r->config,
		.bandwidth = estimate_bandwidth(rates->estimate),
		.requests = estimate_requests(rates->estimate),
		.ordered = limits_set_get(r).throttled,
		.sharers = r->cap ? cap_waiting(r->cap) : 1,
	};

	return llround(limits_finish_time(&limited, (double)seconds, time(NULL)));
}

/* Only where it is sure: what is left may have holes. */
static bool volume_is_full(struct retriever *retriever, int64_t bytes)
{
	const bool names = !COUNT_GET(retriever, exact) || COUNT_GET(retriever, unfilled);
	struct statvfs room;

	if (fstatvfs(retriever->root_fd, &room) < 0)
		return false;
	const uint64_t left = (uint64_t)room.f_bfree * room.f_frsize;
	return left < FULL_BYTES && (names || (int64_t)left < bytes);
}

/* Why no estimate is possible, as far as that is known without measuring; .reason NULL: no such
 * reason. */
static struct estimate_time obstacle(struct retriever *r, int64_t files, int64_t bytes)
{
	const bool names = !COUNT_GET(r, exact) || COUNT_GET(r, unfilled);
	const int64_t errors = errors_count(r->errors);

	if (!names && files <= 0 && bytes <= 0)
		return (struct estimate_time){.reason = NULL};
	if (r->backend && r->backend->ops->away(r->backend))
		return (struct estimate_time){.reason = "the old server does not answer"};
	if (volume_is_full(r, bytes))
		return (struct estimate_time){.reason = "no space on the new server"};
	if (limits_set_get(r).paused)
		return (struct estimate_time){.reason = "paused", .remedy = "migratectl resume "};
	if (!COUNT_GET(r, crawlers) && r->copying)
		return (struct estimate_time){.reason = "no copy runs",
					      .remedy = "migratectl copy "};
	if (!COUNT_GET(r, crawlers) && !names && errors && files <= errors)
		return (struct estimate_time){.reason = "what failed is left",
					      .remedy = "migratectl errors "};
	if (!COUNT_GET(r, crawlers))
		return (struct estimate_time){.reason = "no crawler runs",
					      .remedy = "systemctl start migrate-crawler@"};
	return (struct estimate_time){.reason = names ? "names are still being found" : NULL};
}

struct estimate_time rates_rest(struct rates *rates)
{
	struct retriever *r = rates->retriever;
	const int64_t files = COUNT_GET(r, files_found) - COUNT_GET(r, files_whole);
	const int64_t bytes = COUNT_GET(r, bytes_found) - COUNT_BYTES_HERE(r);
	struct estimate_time told = obstacle(r, files, bytes);

	if (!told.reason)
		told = estimate_tell(rates->estimate, files, bytes);
	if (told.reason)
		return told;
	told.seconds = stretch(rates, told.seconds);
	told.low = stretch(rates, told.low);
	told.high = stretch(rates, told.high);
	if (told.seconds < 0 || told.low < 0 || told.high < 0)
		told.reason = "the calendar leaves it no time";
	return told;
}

/* "2 d 4 h", "3 h 10 min", "5 min 10 s": no more than is known. */
static char *span_text(int64_t seconds)
{
	const int s = (int)MIN(seconds, G_MAXINT);

	if (s >= 86400)
		return g_strdup_printf("%d d %d h", s / 86400, s / 3600 % 24);
	if (s >= 3600)
		return g_strdup_printf("%d h %d min", s / 3600, s / 60 % 60);
	if (s >= 60)
		return g_strdup_printf("%d min %d s", s / 60, s % 60);
	return g_strdup_printf("%d s", s);
}

char *rates_rest_text(struct rates *rates, const struct estimate_time *told)
{
	g_autofree char *likely = span_text(told->seconds);
	g_autofree char *low = span_text(told->low), *high = span_text(told->high);

	if (told->remedy)
		return g_strconcat(told->reason, ": ", told->remedy, rates->retriever->config->name,
				   NULL);
	if (told->reason)
		return g_strdup(told->reason);
	if (!told->high)
		return g_strdup("finished");
	return g_strdup_printf("about %s (%s to %s)", likely, low, high);
}

struct rates *rates_new(struct retriever *retriever)
{
	struct rates *rates = g_new0(struct rates, 1);

	rates->retriever = retriever;
	rates->estimate = estimate_new();
	tick_rate(rates);
	rates->timer = g_timeout_add_seconds(1, tick_rate, rates);
	return rates;
}

void rates_free(struct rates *rates)
{
	if (!rates)
		return;
	g_source_remove(rates->timer);
	estimate_free(rates->estimate);
	g_free(rates);
}
