/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_DISCOVER_WORKER_ANSWER_H
#define CTL_DISCOVER_WORKER_ANSWER_H

#include <glib.h>

/* Sends these strings to migratectl (say.h); ends the process if that fails. */
#define answer(...) answer_fields((const char *const[]){__VA_ARGS__, NULL})
void answer_fields(const char *const *fields);
/* Sends why nothing is answered, and ends the process. */
G_NORETURN void answer_failed(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif
