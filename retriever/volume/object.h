/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects that something is being done to: at most one struct object per inode, found by its kernel
 * handle.  What an object says in memory is its record on disk plus what is not durable yet:
 *
 *   record.missing            not durable here, as the xattr says
 *   record.dirty              part of it: a client wrote it, also in the xattr
 *   filled                    part of it: fetched and in the page cache, in memory only
 *   missing - dirty - filled  what must still be fetched: object_lacks()
 *
 * A kill forgets `filled`, and the range is fetched again: the same bytes over the same bytes,
 * because a client's write to it would have put it into `dirty`.
 *
 * An object with a non-empty `filled` is in the durability queue, which holds a reference.
 */
#ifndef OBJECT_H
#define OBJECT_H

#include <stdatomic.h>

#include "retriever.h"

struct object;

/* Called without locks. */
typedef void (*object_done_fn)(void *arg, int status);

struct range_waiter {
	uint64_t start, end;
	bool background;
	unsigned failures; /* of parts of it, which it does without; background */
	int status;	   /* the first of them */
	object_done_fn done;
	void *arg;
};

struct deferred {
	void (*fn)(struct object *object, void *arg);
	void *arg;
};

struct object {
	struct retriever *retriever;
	struct migrate_binding key;
	unsigned refs; /* the table's lock */

	GMutex lock;
	GCond loaded_cond;
	bool loaded;
	int load_error; /* -EBADMSG ...: then nothing else is valid */
	int fd;		/* O_RDWR for files, O_RDONLY for directories */
	bool is_dir;
	atomic_bool normal; /* no record: nothing to do, for ever.  Set with the lock held */
	struct migrate_record record;
	struct migrate_extents filled;
	struct migrate_extents inflight[2]; /* reads under way: demand, background */
	GQueue waiters;			    /* of struct range_waiter */
	int failed;			    /* -errno of the last failed attempt since loaded */
	bool refinding;			    /* its handle went stale and is looked for */
	unsigned refinds;		    /* how often it was, without success */
	const char *lost;		    /* why it was not found, last time, or NULL */
	unsigned version;		    /* counts the times that version.c took a new one */
	bool closing_gaps;		    /* so that its record fits again */

	/* brackets and fills exclude each other; see bracket.h */
	unsigned writing;  /* fills that write now */
	unsigned brackets; /* brackets that are open */
	bool exclusive;	   /* the open one is a TRUNCATE */
	GQueue begins;	   /* of struct bracket, in the order of arrival */
	GQueue deferred;   /* of struct deferred: fills that wait for the brackets */

	/* demand windows (transfer.c) */
	uint64_t next_offset;
	uint32_t window;

	/* directories (directory.c) */
	GSList *runs;
	bool complete;	     /* every name is here, the record does not say so yet */
	bool completing;     /* that is being done */
	GQueue fill_waiters; /* of struct range_waiter */

	bool sync_queued; /* the durability queue's lock */
};

#define OBJECT_EXTENTS_KEPT 32 /* when gaps are closed so that a record fits */

struct object_table;
struct object_table *object_table_new(struct retriever *retriever);
void object_table_free(struct object_table *table);

/*
 * The object of an open descriptor, with a reference for the caller; loads its record on first use.
 * fd stays the caller's.  Returns 0 (object->normal tells whether there is anything to do), or
 * -errno: -EBADMSG for a damaged record, -ENOTSUP for what is neither file nor directory (which is
 * always normal).
 */
int object_get(struct retriever *retriever, int fd, struct object **object);
/* The same, but takes fd (O_RDWR for a file) and uses it instead of opening the object again. */
int object_get_taking(struct retriever *retriever, int fd, struct object **object);
struct object *object_ref(struct object *object);
void object_unref(struct object *object);

/* With the lock held: out = what must be fetched of [start, end). */
int object_lacks(struct object *object, uint64_t start, uint64_t end, struct migrate_extents *out);
/* With the lock held. */
bool object_has(struct object *object, uint64_t start, uint64_t end);

/* With the lock held: one to be put into `waiters` or `fill_waiters`.  It is counted as waiting
 * until object_run_waiters(). */
struct range_waiter *object_waiter_new(struct object *object, bool background, object_done_fn done,
				       void *arg);
/* With the lock held: takes the waiters that can be answered now off the object; run them with
 * object_run_waiters() after unlocking.  failed: all of them. */
void object_take_waiters(struct object *object, bool failed, GQueue *out);
/* Likewise those who wait for a directory to be filled, all of them. */
void object_take_fill_waiters(struct object *object, GQueue *out);
void object_run_waiters(struct retriever *retriever, GQueue *waiters, int status);

/*
 * Fills ask before they write.  True: go on, and call object_leave_write() after.  False: brackets
 * are open; fn(object, arg) will be called on a worker when they are closed, having entered
 * already. The caller's reference must last until then.  Takes the lock.
 */
bool object_try_write(struct object *object); /* false: brackets are open, nothing was done */
bool object_enter_write(struct object *object, void (*fn)(struct object *, void *), void *arg);
void object_leave_write(struct object *object);

/* Writes the record; lock held.  0, -ENOSPC when it doesn't fit (see object_crowded), -errno. */
int object_store(struct object *object);
/* Lock held: whether the record has so many ranges that closing gaps makes it shorter. */
bool object_crowded(const struct object *object);

/* Makes sure that a normal object has a descriptor, for fsync.  fd: any of the object.  0, -errno.
 */
int object_keep_fd(struct object *object, int fd);

/* Notes that an attempt failed: record, list of errors, waiters.  status: -errno.  Takes the lock.
 */
void object_fail(struct object *object, int status, const char *reason);
/*
 * Likewise where only [start, end) could not be had: who waits for other ranges is not told. Who
 * waits in the background goes on behind it, a limited number of times, and is told in the end.
 * Whether anybody waits on: what was planned for them has to be looked at again.
 */
bool object_fail_range(struct object *object, uint64_t start, uint64_t end, int status,
		       const char *reason);

/* What finds the object on the old server; lock held.  Clear *source after. 0, -ESTALE. */
int object_source(struct object *object, struct source_object *source);
/* Lock held: whether it has been found elsewhere since source was taken. */
bool object_source_moved(struct object *object, const struct source_object *source);

#endif
