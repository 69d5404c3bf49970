/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and bytes per second over the last ten seconds, sampled once a second on the main thread.
 */
#ifndef RETRIEVER_PROGRESS_RATES_H
#define RETRIEVER_PROGRESS_RATES_H

#include "retriever/objects/retriever.h"
#include "retriever/progress/estimate.h"

struct rates;

struct rates *rates_new(struct retriever *retriever);
void rates_free(struct rates *rates);
int64_t rates_files(struct rates *rates);
int64_t rates_bytes(struct rates *rates);
/* How long the rest takes, by the clock: pauses of the calendar are in it, one that was ordered is
 * not.  Main thread. */
struct estimate_time rates_rest(struct rates *rates);
/* That for people, in one short line: the time and its range, "finished", or what keeps it from
 * coming and the command against it.  g_free. */
char *rates_rest_text(struct rates *rates, const struct estimate_time *told);

#endif
