/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A survey of which everything is made up. */
#ifndef TESTS_CTL_CHECK_WHOLE_H
#define TESTS_CTL_CHECK_WHOLE_H

#include "ctl/check/survey_run.h"
#include "tests/ctl/report/made.h"

static inline void whole_begin(struct survey *survey)
{
	const struct source_attr attr = {.mode = S_IFREG | 0644, .size = 1 << 20, .nlink = 1};

	*survey = (struct survey){.name = g_strdup("projects"),
				  .source = g_strdup("nfs://old/projects"),
				  .version = g_strdup("migratectl 1"),
				  .made = 1790000000,
				  .notices = notices_new(),
				  .seconds = 2,
				  .requests = 100,
				  .runs = 1,
				  .share = WALK_ALL,
				  .not_carried = g_strdup("this\nand that")};
	survey->trials = read_trials_new(survey->notices);
	survey->tally.now = INT64_C(1790000000000000000);
	for (unsigned i = 0; i < 10; i++)
		tally_add(&survey->tally, i ? HOSTILE : "", &attr);
	tally_listed(&survey->tally, HOSTILE, 10, 10 << 20, 0.5);
	survey->target = (struct new_fs){.known = true,
					 .path = g_strdup("/new"),
					 .limits = {.name = "ext4", .fixed_inodes = true},
					 .total = 1 << 30,
					 .available = 1 << 30,
					 .inodes = 1000,
					 .inodes_available = 1000,
					 .inode_size = 256};
	survey->need = new_fs_need(&survey->target, &survey->tally, false);
	survey->measured = (struct measured){.round_trip = 0.001, .byte_rate = 1e8, .bytes = 9};
	survey->estimate = measure_estimate(&survey->tally, &survey->measured,
					    &(struct passed){survey_rate(survey), survey->requests,
							     1 << 20, &(struct volume_config){0}},
					    0);
}

static inline void whole_lose(struct survey *survey)
{
	for (unsigned i = 0; i < NOTICE_KINDS; i++)
		notices_add(survey->notices, i, HOSTILE, HOSTILE);
}

#endif
