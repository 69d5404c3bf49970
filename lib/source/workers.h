/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that do requests which block, for backends without an asynchronous interface.  Demand has
 * threads of its own; the others take read-ahead before background.
 */
#ifndef LIB_SOURCE_WORKERS_H
#define LIB_SOURCE_WORKERS_H

#include "lib/source/source.h"

struct backend_workers;

/* What does one request; scratch is the thread's, `scratch_size` zeroed bytes at first. */
typedef void (*backend_work)(void *user, struct backend_request *req, void *scratch);

/* NULL with errno when there are no threads to be had. */
struct backend_workers *backend_workers_new(unsigned demand, unsigned background, backend_work work,
					    void (*scratch_clear)(void *scratch),
					    size_t scratch_size, void *user);
/* -ECANCELED for what waits and what is submitted from now on; ends when no request is under way.
 */
void backend_workers_free(struct backend_workers *workers);
void backend_workers_submit(struct backend_workers *workers, struct backend_request *req);

#endif
