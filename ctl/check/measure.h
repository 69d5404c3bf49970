/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures how quickly the old server answers, with files that it has, and estimates from that how
 * long a migration takes. */
#ifndef CTL_CHECK_MEASURE_H
#define CTL_CHECK_MEASURE_H

#include "ctl/check/samples.h"
#include "ctl/check/tally.h"
#include "lib/config/volume_config.h"
#include "lib/source/gate.h"

struct measured {
	/* seconds; each 0 where it could not be measured */
	double round_trip;	     /* the median of one question at a time */
	double small_rate;	     /* small files a second, several at a time */
	double byte_rate;	     /* bytes a second of longer files, several at a time */
	uint64_t small_files, bytes; /* that were read for it */
	double seconds;		     /* that it took */
	double busy;	 /* how many threads wanted each processor of this machine: 1, or more */
	unsigned failed; /* reads that failed */
	/* The old server's clock is ahead of this one's by clock_least to clock_most, ns.
	 * clock_by: how that is known; NULL: it is not. */
	int64_t clock_least, clock_most;
	const char *clock_by;
};

struct measure {
	struct gate *gate;
	struct samples *samples;
	const struct source_object *root;
	uint32_t max_read;
	bool has_clock;	     /* the source told clock_ahead */
	int64_t clock_ahead; /* ns */
};

/* Reads the samples, in the order of the old server's numbers.  Blocks; stops soon after
 * gate_close(). */
void measure_run(struct measure *measure, const struct tally *tally, struct measured *measured);

struct estimate {
	double names, data, crawl; /* s; 0: cannot be told */
	double again;		   /* a further run of a copy where nothing changed */
	double widest;		   /* the first listing of the widest directory */
};

/* The pass over the source, and the configuration that limits what comes after it. */
struct passed {
	double objects_rate; /* a second */
	uint64_t requests;   /* that it took; the names of a crawl, or another pass, take as many */
	uint32_t max_read;   /* bytes of one request */
	const struct volume_config *config;
};

/* Estimates as if everything began at `now`: with the limits and calendars of the volume and of the
 * old server, as if no other volume came from there. */
struct estimate measure_estimate(const struct tally *tally, const struct measured *measured,
				 const struct passed *passed, time_t now);

#endif
