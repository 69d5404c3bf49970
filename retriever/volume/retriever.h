/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One volume's retriever: what its parts share.
 *
 * Threads: the main thread runs the GMainLoop and handles frames; backend threads complete reads
 * and listings; `workers` make stubs and do other work on the local tree; one sync thread makes
 * data durable and drops records (durability.h).
 *
 * Locks, in the order in which they may be taken:
 *   tree_lock          the shape of "unfinished upwards" (I5): finishing and placing directories
 *   object.lock        one object's sets, waiters and brackets
 *   objects table, sync queue, gate, errors, report, peer locks: leaves, never held while another
 * is taken None is held across a network wait.
 */
#ifndef RETRIEVER_H
#define RETRIEVER_H

#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "source/source.h"
#include "config/config.h"

struct counters {
	/* all atomic; a cache that a walk can rebuild */
	gint64 directories_found, directories_whole, unfilled;
	gint64 files_found, files_whole;
	gint64 bytes_found, bytes_whole, bytes_fetched;
	gint64 acls_carried, xattrs_carried; /* objects */
	gint demand_waiting, background_waiting;
	gint exact;
};

struct retriever {
	struct volume_config *config;
	GMainLoop *loop;
	int root_fd;   /* the volume's root, O_RDONLY | O_DIRECTORY */
	int root_hold; /* while there is no .migrate/ to be locked, else -1 */
	struct migrate_binding root_key;
	atomic_int private_fd; /* .migrate/, or -1 while unattached or finished */
	atomic_int links_fd, staging_fd;
	int finished_fds[3]; /* they were, when the volume was finished; 0: not */
	int lock_fd;

	struct backend *backend; /* retry over the scheme's; NULL until it could be opened */
	uint32_t max_read;	 /* its; it may be gone when replies are still worked on */
	unsigned carries;	 /* likewise */
	GMutex source_lock;	 /* a leaf: the two that follow, once it runs (source_root.h) */
	struct source_object source_root;
	struct source_attr source_root_attr;

	GThreadPool *workers;  /* struct job, see retriever_run() */
	GThreadPool *demand;   /* likewise, for what a client waits for */
	GThreadPool *flushers; /* fsync for those who wait for it */
	GThreadPool *finders;  /* finding stale objects again */
	GThreadPool *slow;     /* one thread: walks of the whole tree, retry */
	GMutex jobs_lock;      /* a leaf */
	GCond jobs_done;
	unsigned jobs; /* of all pools, queued or running */
	gint closing;  /* atomic: long jobs give up */
	struct object_table *objects;
	struct templates *templates;
	struct durability *durability;
	struct gate *gate;
	struct errors *errors;
	struct report *report;
	struct server *server;
	struct prefill *prefill;
	struct rates *rates;
	struct counters counters;
	GMutex save_lock;     /* writing .migrate/state; a leaf but for the file system */
	char *saved_counters; /* what it holds; save_lock */

	GMutex links_lock;	 /* a leaf but for the file system */
	GHashTable *link_counts; /* names made, by the old server's fileid (stub.c) */
	GMutex dummy_lock;	 /* replacing dummies (dummy.h); a leaf but for the file system */
	GRWLock tree_lock;
	gint places;	  /* open PLACE brackets, atomic */
	gint retry_epoch; /* atomic */
};

#define COUNT_ADD(r, field, n) __atomic_add_fetch(&(r)->counters.field, (n), __ATOMIC_RELAXED)
#define COUNT_GET(r, field)    __atomic_load_n(&(r)->counters.field, __ATOMIC_RELAXED)
#define COUNT_SET(r, field, n) __atomic_store_n(&(r)->counters.field, (n), __ATOMIC_RELAXED)

/*
 * Opens the volume: takes its lock, opens the private directory where there is one, and the
 * backend.  Takes config.  NULL with error set: one line.  An old server that is away at start is
 * not an error for an attached volume's normal objects, but nothing can be fetched: this fails and
 * the unit's restart tries again.
 */
struct retriever *retriever_open(struct volume_config *config, GError **error);
void retriever_close(struct retriever *retriever);

/* Opens .migrate/ and its subdirectories, making them where `create`.  0 or -errno. */
int retriever_open_private(struct retriever *retriever, bool create);

/* Runs fn(arg) on a worker thread. */
void retriever_run(struct retriever *retriever, void (*fn)(void *arg), void *arg);
/* Likewise on one that only does what a client waits for: a page of a listing keeps the others busy
 * for a while (I11). */
void retriever_run_demand(struct retriever *retriever, void (*fn)(void *arg), void *arg);
/* Likewise on a thread that may block for the disk. */
void retriever_run_flush(struct retriever *retriever, void (*fn)(void *arg), void *arg);
/* Likewise on a thread that may wait for the old server. */
void retriever_run_find(struct retriever *retriever, void (*fn)(void *arg), void *arg);
/* Likewise on the thread for long walks and waits. */
void retriever_run_slow(struct retriever *retriever, void (*fn)(void *arg), void *arg);

/* The present path of an open descriptor, for messages only.  g_free. */
char *retriever_fd_path(int fd);

/* Replaces a small file in a directory of ours as a whole.  Blocks for the disk.  0 or -errno. */
int retriever_save(int dir_fd, const char *name, const char *text, size_t len);

/* Opens an object of the volume's file system by its kernel handle, O_CLOEXEC | O_NOATIME added.
 * The descriptor, or -1 with errno (ESTALE: it was removed). */
int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags);

/* Submits and waits.  Never on the main thread or a backend thread.  Returns req->status. */
int backend_call(struct retriever *retriever, struct backend_request *req);

#define RETRIEVER_ERROR (g_quark_from_static_string("quickmigrate-retriever"))

#endif
