/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/estimate.h"

#include <glib.h>
#include <math.h>

#define WINDOWS	    40 /* ten minutes of work */
#define GROUPS	    8
#define WINDOWS_MIN 4
#define SURE	    0.1 /* no rate is known better */
#define SPREAD_MAX  8	/* how many times the shortest the longest may be */
#define YEAR	    (365 * 86400.0)

struct window {
	double seconds, files, bytes, requests;
};

struct estimate {
	struct window windows[WINDOWS]; /* a ring */
	unsigned n, next;
	struct window current;
};

struct estimate *estimate_new(void)
{
	return g_new0(struct estimate, 1);
}

void estimate_free(struct estimate *estimate)
{
	g_free(estimate);
}

void estimate_add(struct estimate *estimate, double seconds, int64_t files, int64_t bytes,
		  int64_t requests)
{
	struct window *current = &estimate->current;

	if (!(seconds > 0))
		return;
	current->seconds += seconds;
	current->files += (double)MAX(files, 0);
	current->bytes += (double)MAX(bytes, 0);
	current->requests += (double)MAX(requests, 0);
	if (current->seconds < ESTIMATE_WINDOW)
		return;
	estimate->windows[estimate->next] = *current;
	estimate->next = (estimate->next + 1) % WINDOWS;
	estimate->n = MIN(estimate->n + 1, WINDOWS);
	*current = (struct window){0};
}

/* The sum of n windows, from the i-th of those that there are, the oldest being the first. */
static struct window sum(const struct estimate *estimate, unsigned i, unsigned n)
{
	struct window all = {0};

	for (; n; i++, n--) {
		const struct window *one =
			&estimate->windows[(estimate->next + WINDOWS - estimate->n + i) % WINDOWS];

		all.seconds += one->seconds;
		all.files += one->files;
		all.bytes += one->bytes;
		all.requests += one->requests;
	}
	return all;
}

double estimate_bandwidth(const struct estimate *estimate)
{
	struct window all = sum(estimate, 0, estimate->n);

	return all.seconds > 0 ? all.bytes / all.seconds : 0;
}

double estimate_requests(const struct estimate *estimate)
{
	struct window all = sum(estimate, 0, estimate->n);

	return all.seconds > 0 ? all.requests / all.seconds : 0;
}

/* INFINITY: never. */
static double needed(const struct window *window, int64_t files, int64_t bytes)
{
	const bool within =
		bytes > 0 && window->bytes > 0 && !(window->files > 0); /* a large one */
	double by_files =
		files > 0 && !within ? (double)files * window->seconds / window->files : 0;
	double by_bytes = bytes > 0 ? (double)bytes * window->seconds / window->bytes : 0;

	return MAX(by_files, by_bytes);
}

static int compare_estimate(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct estimate_time estimate_tell(const struct estimate *estimate, int64_t files, int64_t bytes)
{
	const unsigned groups = MIN(estimate->n, GROUPS);
	struct window all = sum(estimate, 0, estimate->n);
	double times[GROUPS], likely, low, high;

	if (files <= 0 && bytes <= 0)
		return (struct estimate_time){.reason = NULL};
	if (estimate->n < WINDOWS_MIN)
		return (struct estimate_time){.reason = "measuring"};
	likely = needed(&all, files, bytes);
	if (!(likely < YEAR))
		return (struct estimate_time){.reason = "nothing comes"};
	for (unsigned i = 0; i < groups; i++) {
		unsigned from = estimate->n * i / groups, to = estimate->n * (i + 1) / groups;
		struct window group = sum(estimate, from, to - from);

		times[i] = needed(&group, files, bytes);
	}
	qsort(times, groups, sizeof *times, compare_estimate);
	low = MIN(times[groups / 5], likely * (1 - SURE));
	high = MAX(times[groups - 1 - groups / 5], likely * (1 + SURE));
	if (!(high < low * SPREAD_MAX))
		return (struct estimate_time){.reason = "the rate changes too much"};
	return (struct estimate_time){llround(likely), llround(low), llround(high), NULL};
}
