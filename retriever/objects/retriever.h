/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state that all parts of one volume's retriever share.
 *
 * Threads: the main thread runs the GMainLoop and handles frames; backend threads complete reads
 * and listings; jobs (jobs.h) make stubs and do other work on the local tree; one sync thread makes
 * data durable and drops records (durability.h).
 *
 * Locks, in the order in which they may be taken; none is held across a network wait:
 *   places             the shape of "unfinished upwards" (I5): finishing and placing directories
 *   file.sync_lock     one flush of a file at a time; held while the disk is waited for
 *   object.lock        one object's sets, waiters and brackets
 *   requests, peer     what a peer has open, what it did not read
 *   save_lock, orders_lock, gate: in this order
 *   recounts           a change that is counted (recount.h)
 *   objects table, sync queue, errors, report: leaves, never held while another is taken
 */
#ifndef RETRIEVER_OBJECTS_RETRIEVER_H
#define RETRIEVER_OBJECTS_RETRIEVER_H

#include <dirent.h>
#include <glib.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/config/config.h"
#include "lib/source/source.h"
#include "retriever/objects/capabilities.h"
#include "retriever/objects/counters.h"
#include "retriever/objects/spelling.h"

/* Limits that commands have set in place of the configured ones (limits_set.h). */
struct limits_set {
	bool throttled, paused;
	uint64_t bandwidth; /* bytes a second, 0: no limit; if throttled */
};

struct retriever {
	struct volume_config *config;
	GMainLoop *loop;
	int root_fd;   /* the volume's root, O_RDONLY | O_DIRECTORY */
	int root_hold; /* while there is no .migrate/ to be locked, else -1 */
	struct migrate_binding root_key;
	uint8_t epoch[MIGRATE_EPOCH_LEN]; /* of its mount, which root_fd keeps */
	atomic_int private_fd;		  /* .migrate/, or -1 while unattached or finished */
	atomic_int links_fd, staging_fd;
	struct capabilities capabilities; /* of its file system, from private_open() on */
	int finished_fds[3];		  /* they were, when the volume was finished; 0: not */
	int volume_fd;	  /* of a copy: the volume's own .migrate/, locked; else -1 */
	int damage_fd;	  /* how many errors the file system found in itself, or -1 (damage.h) */
	gint damage_told; /* atomic: the log says so */
	unsigned silent_told; /* s; 0: the log says nothing of it (source_silent.h); main thread */

	const struct backend_ops *scheme; /* of the source's URL */
	struct backend *backend; /* retry over the scheme's; NULL until it could be opened */
	uint32_t max_read;	 /* its; kept, as replies may outlive the backend */
	unsigned carries;	 /* the same; what it carries over */
	uint64_t source_fs;	 /* the same: the file system of the source's root, or 0 */
	GMutex source_lock;	 /* a leaf: the two that follow, once it runs (source_root.h) */
	struct source_object source_root;
	struct source_attr source_root_attr;

	struct jobs *jobs;
	gint closing; /* atomic: long jobs give up */
	gint reopen; /* atomic: when the command is answered, begin again from what the disk says */
	struct object_table *objects;
	struct templates *templates;
	struct durability *durability;
	struct gate *gate;
	struct errors *errors;
	struct losses *losses;
	struct server *server;
	/* what requests are open, for status: set by the server; main thread */
	void (*describe)(void *describer, GKeyFile *file);
	void *describer;
	/* directories with files that clients wait for (touched.h); NULL until a crawler wants to
	 * know; main thread */
	GHashTable *touched;
	struct prefill *prefill;
	struct spellings spellings;
	struct later *later;
	struct rates *rates;
	struct history *history;
	struct counters counters;
	struct recounts *recounts;
	GMutex save_lock;     /* writing .migrate/state; a leaf, held over disk access */
	char *saved_counters; /* what it holds; save_lock */
	char *saved_orders;   /* what .migrate/orders holds; NULL: there is no such file */
	GMutex orders_lock;   /* only the gate's lock is taken under it; below save_lock */
	struct limits_set orders;
	const struct calendar_rule *rule, *server_rule; /* in force; main thread */
	time_t rule_until, rule_looked; /* when rule ends, or 0; when that was looked up */
	struct cap *cap;		/* of [server HOST], or NULL */

	bool copying;	     /* the root is that of a copy, which nobody is served from */
	gint accepted;	     /* atomic: any number of names may go, until the retriever restarts */
	struct prior *prior; /* where the volume has a prior copy (prior.h), else NULL */
	struct links *links;
	struct data_hints *data_hints;
	gint staging_serial; /* atomic: the last name in .migrate/staging/ */
	gint sorter_entries; /* atomic: entries that wait (sorter.h) */
	GMutex dummy_lock;   /* replacing dummies (dummy.h); a leaf, held over disk access */
	GHashTable *asked;   /* leftover.h; dummy_lock */
	struct migrate_old_index *old_index; /* old_handles.h; NULL: not kept */
	gint old_handle_lost;		     /* atomic: the log says so */
	gint old_asked;			     /* atomic: what doors ask of it (control_old.h) */
	struct places *places;
	struct listings *listings;
	struct proof *proof;
};

/* Whether clients wait for requests that background work may delay; requests that the old server
 * puts off do not count. */
bool retriever_clients_wait(struct retriever *retriever);

/* The current path of an open descriptor, for messages only.  g_free. */
char *retriever_fd_path(int fd);

/* Opens an object of the volume's file system by its kernel handle, O_CLOEXEC | O_NOATIME added.
 * The descriptor, or -errno (-ESTALE: it was removed). */
int retriever_open_binding(struct retriever *retriever, const struct migrate_binding *binding,
			   int flags);

/* Opens a name in dir_fd, O_CLOEXEC | O_NOFOLLOW added.  The descriptor, or -errno; -EXDEV:
 * something is mounted over it, which says nothing of what is below. */
int retriever_open_name(int dir_fd, const char *name, int flags);

/* The names in a directory in dir_fd ("."), from the first on: closedir().  NULL with errno. */
DIR *retriever_list(int dir_fd, const char *name);

#define RETRIEVER_ERROR (g_quark_from_static_string("quickmigrate-retriever"))

#endif
