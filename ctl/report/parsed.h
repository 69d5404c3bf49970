/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON of a final report, as it is checked; it may come from anywhere. */
#ifndef CTL_REPORT_PARSED_H
#define CTL_REPORT_PARSED_H

#include "ctl/report/final.h"

#define PARSED_MAX (64 << 20) /* bytes of a JSON: far more than lists and history take */

struct parsed {
	char *volume, *source, *made, *verdict; /* one line each */
	bool complete;
	struct manifest_count count;
	GPtrArray *parts; /* of struct final_part, whose names are of files beside it */
};

/* NULL with error set: it is damaged, or none. */
struct parsed *parsed_new(const char *text, size_t len, GError **error);
void parsed_free(struct parsed *parsed);

#endif
