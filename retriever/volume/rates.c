/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rates.h"

#include "errors.h"
#include "history.h"
#include "report.h"
#include "jobs.h"
#include "orders.h"
#include "saved_counters.h"

#define SAMPLES 10

struct sample {
	gint64 when, files, bytes;
};

struct rates {
	struct retriever *retriever;
	struct sample samples[SAMPLES]; /* a ring */
	unsigned n, next;
	guint timer;
	gint saving; /* a save is queued or runs */
};

static struct sample now(struct rates *rates)
{
	struct sample s = {g_get_monotonic_time(), COUNT_GET(rates->retriever, files_whole),
			   COUNT_GET(rates->retriever, bytes_fetched)};

	return s;
}

/* What is only a cache is written down, off the main thread: the disk may be slow. */
static void save(void *arg)
{
	struct rates *rates = arg;

	counters_save(rates->retriever, false);
	history_save(rates->retriever);
	orders_save(rates->retriever);
	errors_save(rates->retriever->errors);
	report_sync(rates->retriever->report);
	g_atomic_int_set(&rates->saving, 0);
}

static gboolean tick(gpointer arg)
{
	struct rates *rates = arg;

	rates->samples[rates->next] = now(rates);
	rates->next = (rates->next + 1) % SAMPLES;
	rates->n = MIN(rates->n + 1, SAMPLES);
	history_sample(rates->retriever);
	orders_tick(rates->retriever);
	if (g_atomic_int_compare_and_exchange(&rates->saving, 0, 1))
		jobs_run(rates->retriever->jobs, JOB_FLUSH, save, rates);
	return G_SOURCE_CONTINUE;
}

static int64_t per_second(struct rates *rates, bool bytes)
{
	struct sample last = now(rates), first;
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

struct rates *rates_new(struct retriever *retriever)
{
	struct rates *rates = g_new0(struct rates, 1);

	rates->retriever = retriever;
	tick(rates);
	rates->timer = g_timeout_add_seconds(1, tick, rates);
	return rates;
}

void rates_free(struct rates *rates)
{
	if (!rates)
		return;
	g_source_remove(rates->timer);
	g_free(rates);
}
