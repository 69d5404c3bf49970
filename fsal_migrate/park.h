/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Parked reads and writes: what io.c, read.c and write.c share.  The argument is in io.c. */
#ifndef PARK_H
#define PARK_H

#include "door.h"
#include "pool.h"

enum mg_step { WAITING, READY, ENDING };

struct mg_io {
	struct mg_job job;
	struct mg_timer timer;
	struct timespec deadline;
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
	/* a write */
	bool write, stable;
	int fd;
	uint64_t offset, length;
	fsal_status_t status;
	/* a read */
	struct migrate_version version; /* at its look */
	/* volume.lock */
	unsigned refs;		/* who will answer, the timer, a reply that is to come */
	struct glist_head link; /* mg_export.ios */
	struct glist_head wait; /* mg_fetch.parked; a read that is WAITING */
	enum mg_step step;
	bool ended; /* READY after ENDING */
	int result;
	uint64_t begun;
};

/* Down to VFS, whose answer goes to done_cb.  found: what a read of an unfinished file found at its
 * look; if that is not so any more, the read is made again.  NULL: as it is. */
void mg_io_pass_down(struct fsal_obj_handle *handle, bool write, bool bypass, fsal_async_cb done_cb,
		     struct fsal_io_arg *arg, void *caller_arg,
		     const struct migrate_version *found);
uint64_t mg_io_length(const struct fsal_io_arg *arg);

/* NULL: out of memory, or the export is going away. */
struct mg_io *mg_io_new(struct mg_object *object, bool write, bool bypass, fsal_async_cb done_cb,
			struct fsal_io_arg *arg, void *caller_arg);
/* It was not parked after all. */
void mg_io_drop(struct mg_io *io);
void mg_io_unref(struct mg_io *io);
/* volume.lock: it is WAITING from now on. */
void mg_io_park(struct mg_io *io);
/* volume.lock: its next step is a job of the pool. */
void mg_io_ready(struct mg_io *io, int result);
/* For brackets that are ended without anybody to tell. */
void mg_io_ignore_done(void *arg, int status);

/* read.c */
void mg_read2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *arg, void *caller_arg);

/* write.c */
void mg_write2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *arg, void *caller_arg);
void mg_write_below(struct mg_io *io);
/* Whether the bracket was lost and there is time to make it again; it is under way then. */
bool mg_write_again(struct mg_io *io);
fsal_status_t mg_write_status(const struct mg_io *io);

#endif
