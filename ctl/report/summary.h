/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the JSON of a final report that is to be checked; it may come from anywhere. */
#ifndef CTL_REPORT_SUMMARY_H
#define CTL_REPORT_SUMMARY_H

#include "ctl/report/final.h"

#define SUMMARY_MAX (64 << 20) /* bytes of a JSON: far more than lists and history take */

struct summary {
	char *volume, *source, *made, *verdict; /* one line each */
	bool complete;
	struct manifest_count count;
	GPtrArray *parts; /* of struct final_part, whose names are of files beside it */
};

/* NULL with error set: text is damaged, or no report. */
struct summary *summary_new(const char *text, size_t len, GError **error);
void summary_free(struct summary *summary);

#endif
