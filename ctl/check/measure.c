/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/limits.h"

#define PINGS	    32
#define UNDER_WAY   32			 /* small files at a time */
#define LARGE_READS 8			 /* of longer ones */
#define LARGE_BYTES ((uint64_t)16 << 20) /* of one */
#define SECONDS	    5			 /* for each kind at most */
/* Time that each of these takes of a processor of this machine (docs/bench.md). */
#define STUB_US	    25 /* to make a name here, and ... */
#define FILL_US	    50 /* ... to fill a small file */
#define CLOCK_FILES 16
#define CLOCK_NS    INT64_C(1000000000) /* what a server's clock ticks coarsely */

/* Reads that are on their way. */
struct reads {
	struct measure *measure;
	struct measured *measured;
	GMutex lock;
	GCond answered;
	unsigned under_way;
	uint64_t files, bytes;
};

struct read_one {
	struct reads *reads;
	struct backend_request req;
};

static int64_t now_ns(void)
{
	return g_get_real_time() * 1000;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static int ask_speed(struct measure *measure, enum backend_op op, const struct sample *sample,
		     int64_t *atime)
{
	struct backend_request req = {.op = op,
				      .priority = BACKEND_BACKGROUND,
				      .object = sample->object,
				      .count = op == BACKEND_READ ? 1 : 0};
	int ret = gate_call(measure->gate, &req);

	*atime = req.attr.atime;
	return ret ? ret : req.has_attr || op == BACKEND_GETATTR ? 0 : -ENODATA;
}

/*
 * Finds the old server's clock by reads that move a file's atime.  Such an atime was set between
 * the question and its answer, so the old server's clock showed that time at some moment between
 * these.  Each file narrows it down.
 */
static void read_clock(struct measure *measure, struct measured *measured)
{
	const unsigned n = MIN(measure->samples->kinds[SAMPLE_SMALL].n, CLOCK_FILES);

	for (unsigned i = 0; i < n; i++) {
		const struct sample *sample = &measure->samples->kinds[SAMPLE_SMALL].at[i];
		const int64_t asked = now_ns();
		int64_t before, after, least, most;

		if (ask_speed(measure, BACKEND_GETATTR, sample, &before) ||
		    ask_speed(measure, BACKEND_READ, sample, &after) || before == after)
			continue;
		least = after - now_ns() - CLOCK_NS;
		most = after - asked + CLOCK_NS;
		if (!measured->clock_by) {
			measured->clock_least = least;
			measured->clock_most = most;
		}
		measured->clock_by = "times of access that moved when files were read";
		measured->clock_least = MAX(measured->clock_least, least);
		measured->clock_most = MIN(measured->clock_most, most);
	}
	if (measured->clock_by && measured->clock_least > measured->clock_most)
		measured->clock_by = NULL; /* it is no clock */
}

static void note_told(const struct measure *measure, struct measured *measured)
{
	measured->clock_least = measure->clock_ahead - CLOCK_NS;
	measured->clock_most = measure->clock_ahead + CLOCK_NS;
	measured->clock_by = "the time that it told when it was connected to";
}

/* Nobody can set a ctime: if one is later than this machine's clock was when it was seen, the clock
 * there is ahead. */
static void note_newest(struct measured *measured, const struct tally *tally)
{
	if (measured->clock_by || tally->newest <= tally->newest_seen + CLOCK_NS)
		return;
	measured->clock_least = tally->newest - tally->newest_seen;
	measured->clock_most = INT64_MAX;
	measured->clock_by = "an object that was changed later than it is here";
}

/* ---- round trips ----------------------------------------------------------------------------- */

static int compare_doubles(gconstpointer a, gconstpointer b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure_round_trip(struct measure *measure, struct measured *measured)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
	const unsigned limit = gate_requests(measure->gate);

	for (unsigned i = 0; i < PINGS; i++) {
		struct backend_request req = {.op = BACKEND_GETATTR,
					      .priority = BACKEND_BACKGROUND,
					      .object = *measure->root};
		double seconds;
		gint64 began;

		if (limit)
			g_usleep(G_USEC_PER_SEC / limit + 1000); /* the gate has no wait then */
		began = g_get_monotonic_time();
		if (gate_call(measure->gate, &req))
			break;
		seconds = (double)MAX(g_get_monotonic_time() - began, 1) / G_USEC_PER_SEC;
		g_array_append_val(times, seconds);
	}
	g_array_sort(times, compare_doubles);
	if (times->len)
		measured->round_trip = g_array_index(times, double, times->len / 2);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void was_read(struct backend_request *req)
{
	struct read_one *one = req->user;
	struct reads *reads = one->reads;

	g_mutex_lock(&reads->lock);
	if (req->status) {
		reads->measured->failed++;
	} else {
		reads->bytes += req->data_len;
		reads->files++;
	}
	reads->under_way--;
	g_cond_signal(&reads->answered);
	g_mutex_unlock(&reads->lock);
	g_free(one);
}

static void read_at(struct reads *reads, const struct sample *sample, uint64_t offset,
		    uint32_t count, unsigned most)
{
	struct read_one *one;

	g_mutex_lock(&reads->lock);
	while (reads->under_way >= most)
		g_cond_wait(&reads->answered, &reads->lock);
	reads->under_way++;
	g_mutex_unlock(&reads->lock);
	one = g_new0(struct read_one, 1);
	one->reads = reads;
	one->req = (struct backend_request){.op = BACKEND_READ,
					    .priority = BACKEND_BACKGROUND,
					    .object = sample->object,
					    .offset = offset,
					    .count = count,
					    .done = was_read,
					    .user = one};
	gate_submit(reads->measure->gate, &one->req);
}

static void reads_begin(struct reads *reads, struct measure *measure, struct measured *measured)
{
	*reads = (struct reads){.measure = measure, .measured = measured};
	g_mutex_init(&reads->lock);
	g_cond_init(&reads->answered);
}

/* Seconds since `began`. */
static double reads_end(struct reads *reads, gint64 began)
{
	g_mutex_lock(&reads->lock);
	while (reads->under_way)
		g_cond_wait(&reads->answered, &reads->lock);
	g_mutex_unlock(&reads->lock);
	g_mutex_clear(&reads->lock);
	g_cond_clear(&reads->answered);
	return (double)MAX(g_get_monotonic_time() - began, 1) / G_USEC_PER_SEC;
}

static void measure_small(struct measure *measure, struct measured *measured)
{
	const gint64 began = g_get_monotonic_time();
	struct reads reads;
	double seconds;

	reads_begin(&reads, measure, measured);
	for (unsigned i = 0; i < measure->samples->kinds[SAMPLE_SMALL].n; i++) {
		const struct sample *sample = &measure->samples->kinds[SAMPLE_SMALL].at[i];

		if (g_get_monotonic_time() - began > SECONDS * G_USEC_PER_SEC)
			break;
		read_at(&reads, sample, 0, MIN((uint32_t)sample->size, measure->max_read),
			UNDER_WAY);
	}
	seconds = reads_end(&reads, began);
	measured->small_files = reads.files;
	if (reads.files)
		measured->small_rate = (double)reads.files / seconds;
}

/* FALSE: no more. */
static bool read_long(struct reads *reads, const struct sample *sample, gint64 began)
{
	const uint32_t most = reads->measure->max_read;
	const uint64_t end = MIN(sample->size, LARGE_BYTES);

	for (uint64_t at = 0; at < end; at += most) {
		if (g_get_monotonic_time() - began > SECONDS * G_USEC_PER_SEC)
			return false;
		read_at(reads, sample, at, (uint32_t)MIN(most, end - at), LARGE_READS);
	}
	return true;
}

static void measure_long(struct measure *measure, struct measured *measured)
{
	const gint64 began = g_get_monotonic_time();
	struct reads reads;
	double seconds;

	reads_begin(&reads, measure, measured);
	for (unsigned i = 0; i < measure->samples->kinds[SAMPLE_LARGE].n; i++)
		if (!read_long(&reads, &measure->samples->kinds[SAMPLE_LARGE].at[i], began))
			break;
	seconds = reads_end(&reads, began);
	measured->bytes = reads.bytes;
	if (reads.bytes)
		measured->byte_rate = (double)reads.bytes / seconds;
}

static double busy_here(void)
{
	double load;

	return getloadavg(&load, 1) == 1 ? MAX(load / g_get_num_processors(), 1) : 1;
}

void measure_run(struct measure *measure, const struct tally *tally, struct measured *measured)
{
	const gint64 began = g_get_monotonic_time();

	memset(measured, 0, sizeof(*measured));
	measure_round_trip(measure, measured);
	if (measure->has_clock)
		note_told(measure, measured);
	else
		read_clock(measure, measured);
	measure_small(measure, measured);
	measure_long(measure, measured);
	note_newest(measured, tally);
	measured->busy = busy_here();
	measured->seconds = (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC;
}

/* ---- what follows ---------------------------------------------------------------------------- */

static double time_of(double amount, double rate)
{
	return rate > 0 ? amount / rate : 0;
}

/* Making objects here takes its time, however quick the old server is. */
static double time_here(const struct measured *measured, uint64_t n, double us)
{
	return (double)n * us * MAX(measured->busy, 1) / G_USEC_PER_SEC;
}

/* s, if nothing limited it; 0: cannot be told. */
static double data_time(const struct tally *tally, const struct measured *measured)
{
	const uint64_t longer = tally->bytes - tally->small_bytes;
	const double small = MAX(time_of((double)tally->small, measured->small_rate),
				 time_here(measured, tally->small, FILL_US));

	if ((tally->small && !measured->small_rate) || (longer && !measured->byte_rate))
		return 0;
	return small + time_of((double)longer, measured->byte_rate);
}

static double data_requests(const struct tally *tally, uint32_t max_read)
{
	return (double)tally->small +
	       (double)(tally->bytes - tally->small_bytes) / MAX(max_read, 1);
}

/* The seconds that something takes under the limits: `seconds` if nothing limits it, with so many
 * bytes and requests; 0: longer than a year. */
static double limited(double seconds, double bytes, double requests,
		      const struct volume_config *config, time_t now)
{
	struct limits limited = {.config = config};

	if (!(seconds > 0))
		return 0;
	limited.bandwidth = bytes / seconds;
	limited.requests = requests / seconds;
	return MAX(limits_finish_time(&limited, seconds, now), 0);
}

struct estimate measure_estimate(const struct tally *tally, const struct measured *measured,
				 const struct passed *passed, time_t now)
{
	const struct volume_config *config = passed->config;
	const double objects = (double)tally_objects(tally), asked = (double)passed->requests;
	const double again = time_of(objects, passed->objects_rate);
	const double names = MAX(again, time_here(measured, tally_objects(tally), STUB_US));
	const double bytes = (double)tally->bytes, data = data_time(tally, measured);
	const double reads = data_requests(tally, passed->max_read);
	struct estimate estimate = {
		.again = limited(again, 0, asked, config, now),
		.names = limited(names, 0, asked, config, now),
		.data = limited(data, bytes, reads, config, now),
	};

	if (data > 0 || !tally->bytes)
		estimate.crawl = limited(names + data, bytes, asked + reads, config, now);
	if (tally->wide.n)
		estimate.widest = MAX(tally->wide.places[0].seconds,
				      time_here(measured, tally->wide.places[0].value, STUB_US));
	return estimate;
}
