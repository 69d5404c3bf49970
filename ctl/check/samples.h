/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files to measure with: a random sample of all that were found, in which each file had the same
 * chance.  Any thread. */
#ifndef CTL_CHECK_SAMPLES_H
#define CTL_CHECK_SAMPLES_H

#include "lib/source/source.h"

enum sample_kind { SAMPLE_SMALL, SAMPLE_LARGE, SAMPLE_KINDS };

#define SAMPLES_SMALL 512
#define SAMPLES_LARGE 16

struct sample {
	struct source_object object; /* with its path */
	uint64_t size;
};

struct samples {
	GMutex lock;
	struct {
		struct sample *at;
		unsigned n, room;
		uint64_t seen;
	} kinds[SAMPLE_KINDS];
};

void samples_init(struct samples *samples);
void samples_clear(struct samples *samples);
/* Offers a file that is not empty. */
void samples_offer(struct samples *samples, const char *path, const struct source_entry *entry);

void samples_save(struct samples *samples, GKeyFile *state);
bool samples_load(struct samples *samples, GKeyFile *state);

#endif
