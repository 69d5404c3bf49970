/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads and writes of unfinished files.
 *
 * A read of a missing range and every write are parked: no thread waits for them.
 *
 *   read    WAITING for its fetch -> READY: read below, look again, answer
 *   write   WAITING for begin -> READY: write below -> ENDING -> READY: answer, or begin again
 *
 * WAITING ends at the deadline with DELAY: a fetch is cancelled with the last read that waits for
 * it, but bytes that are on their way from the old server are still used; a begin is cancelled, or
 * ended if it was granted already.  ENDING may take as long as the disk takes to make data durable.
 * After ten seconds the retriever is taken to hang, and the write is answered DELAY, too: the
 * client makes the write again, and the end is on its way all the same.
 *
 * READY is a job of the pool.  It runs in a context of its own, with the credentials of the
 * request, and with the module's export in place when it calls MDCACHE back.  The request keeps the
 * object and its state until it is answered; after that nothing of the request may be touched.
 */
#ifndef FSAL_MIGRATE_PARK_H
#define FSAL_MIGRATE_PARK_H

#include "fsal_migrate/object.h"
#include "fsal_migrate/pool.h"

enum mg_stage { WAITING, READY, ENDING };

struct mg_io {
	struct mg_job job;
	struct mg_timer timer;
	struct timespec deadline;
	/* When the request is READY: goes on with it, in the request's context.  true: it is
	 * answered, or another thread goes on with it; false: it waits again. */
	bool (*step)(struct mg_io *io);
	/* With volume.lock: the request is WAITING and is not to wait any longer. */
	void (*give_up)(struct mg_io *io);
	/* the request */
	struct mg_volume *volume; /* counted */
	struct mg_export *export; /* pending */
	struct gsh_export *gsh;	  /* counted */
	struct mg_object *object;
	struct user_cred creds;
	bool bypass;
	fsal_async_cb done_cb;
	struct fsal_io_arg *arg;
	void *caller_arg;
	uint64_t offset, length;
	/* a write */
	bool stable;
	int fd; /* -1: none */
	fsal_status_t status;
	struct migrate_bracket bracket;
	/* a read */
	struct migrate_found found; /* at its look */
	/* volume.lock */
	unsigned refs; /* held by the thread that will answer, the timer, a reply to come */
	struct glist_head link; /* mg_export.ios */
	struct glist_head wait; /* mg_fetch.parked; a read that is WAITING */
	struct mg_fetch *fetch; /* of a read that is WAITING */
	enum mg_stage stage;
	int result;
	uint64_t begun;
};

/* Passes a read or write down to VFS, whose answer goes to done_cb. */
void mg_pass_down(struct fsal_obj_handle *handle, bool write, bool bypass, fsal_async_cb done_cb,
		  struct fsal_io_arg *arg, void *caller_arg);
/*
 * The status of a write that was to be durable, after FSAL VFS has answered it.  From Ganesha 5 on
 * VFS answers a write that it could not flush with success, and says only that the write is not
 * stable.  Clients would then send a COMMIT, which finds no error any more, as the kernel tells
 * each descriptor of an error once.
 */
fsal_status_t mg_stable_status(fsal_status_t status, const struct fsal_io_arg *arg);
uint64_t mg_io_length(const struct fsal_io_arg *arg);

/* NULL: out of memory, or the export is going away.  The caller sets step and give_up. */
struct mg_io *mg_io_new(struct mg_object *object, bool bypass, fsal_async_cb done_cb,
			struct fsal_io_arg *arg, void *caller_arg);
/* Frees a request that was not parked after all. */
void mg_io_drop(struct mg_io *io);
void mg_io_unref(struct mg_io *io);
/* With volume.lock: the request is WAITING from now on. */
void mg_io_park(struct mg_io *io);
/* With volume.lock: the request is in this stage until then; after that it is answered DELAY. */
void mg_io_wait(struct mg_io *io, enum mg_stage stage, struct timespec until);
/* With volume.lock: makes the request's next step a job of the pool. */
void mg_io_ready(struct mg_io *io, int result);
/* With volume.lock: has every parked request of the export answered with DELAY, soon. */
void mg_io_cancel(struct mg_export *export);

#endif
