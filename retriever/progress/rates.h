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
/* How long the rest takes, by the clock: pauses of the calendar are included, a pause that a
 * command has set is not.  Main thread. */
struct estimate_time rates_rest(struct rates *rates);
/* The same for people, in one short line: the time and its range, "finished", or what keeps the
 * rest from coming and the command that helps.  g_free. */
char *rates_rest_text(struct rates *rates, const struct estimate_time *told);

#endif
