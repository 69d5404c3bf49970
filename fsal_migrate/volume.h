/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A volume that NFS-Ganesha serves, its exports, and how long they live. */
#ifndef FSAL_MIGRATE_VOLUME_H
#define FSAL_MIGRATE_VOLUME_H

#include "fsal_migrate/door.h"

/* The configuration block MIGRATE. */
struct mg_limits {
	uint32_t max_waiters;  /* threads of the protocol layer that may wait at a time */
	uint32_t workers;      /* threads that complete parked requests */
	uint32_t max_requests; /* to the retriever under way, for each volume */
};
extern struct mg_limits mg_limits;

/* One volume, shared by all exports of it. */
struct mg_volume {
	struct glist_head link; /* connection.c's lock */
	unsigned exports;	/* connection.c's lock */
	atomic_uint refs;	/* exports, objects, calls; freed with the last */
	/* constant */
	char *name;
	char *socket; /* "": the default */
	int mount_fd; /* any directory on the volume's file system */
	dev_t device;
	/* Valid while there are exports, and so during every operation. */
	struct migrate_volume *client;
	pthread_t dispatcher;
	atomic_bool stop;

	atomic_bool finished;	/* all is normal for ever: no object is looked at any more */
	atomic_bool damaged;	/* its file system has found errors in itself: mg_is_whole() */
	atomic_bool unproven;	/* an export has no record at its root or above: it may be above the
				   volume's root, and then the lack of a record proves nothing */
	atomic_bool inspected;	/* unproven and unattached are known; before, nothing follows from
				   them */
	atomic_bool unattached; /* the root was empty and without a record when exported */
	atomic_bool registered; /* the guard was told, or is told with the next connection */
	atomic_bool unregistered; /* that this failed is in the log */
	struct timespec hello_by; /* constant: when the retriever, if it runs, has answered */
	/* lock: the retriever is away, and nothing else says that anything is unfinished; and an
	 * export without the layer was allowed because of that. */
	bool presumed, waived;
	/* The key of an unattached root; NULL: not looked up yet.  Set under volume.lock, taken by
	 * the dispatcher. */
	void *root_key;
	size_t root_key_len;

	pthread_mutex_t lock;
	pthread_cond_t idle;	       /* an export's pending fell to 0 */
	struct glist_head export_list; /* lock */
};

struct mg_takeover_clients;
struct mg_takeover_objects;

/* Of an export with takeover handles (takeover.c). */
struct mg_takeover {
	char *file; /* NULL: the export has none */
	struct mg_takeover_clients *clients;
	struct mg_takeover_objects *objects; /* of FILE.all; NULL: not known.  takeover.c's lock */
	/* takeover.c's lock */
	bool all_known; /* FILE.all was there, and was looked at */
	bool known;	/* the file was read, when it was this: */
	struct stat st;
};

struct mg_export {
	struct fsal_export fsal;
	struct mg_volume *volume; /* counted */
	/* The volume's root, if it is this export's root: the directory that hides .migrate. */
	bool has_root;
	uint64_t root_fileid;
	struct glist_head link; /* volume.lock, in export_list */
	bool closing;		/* volume.lock */
	struct mg_takeover takeover;
	unsigned pending;      /* volume.lock: parked requests and upcalls */
	struct glist_head ios; /* volume.lock: parked requests */
};

static inline struct mg_export *mg_export(struct fsal_export *export)
{
	return container_of(export, struct mg_export, fsal);
}

/* Every call of the FSAL below is made between enter and leave. */
static inline struct mg_export *mg_enter(void)
{
	struct mg_export *export = mg_export(op_ctx->fsal_export);

	op_ctx->fsal_export = export->fsal.sub_export;
	return export;
}

static inline void mg_leave(struct mg_export *export)
{
	op_ctx->fsal_export = &export->fsal;
}

/* The time now plus the volume's hold time. */
static inline struct timespec mg_deadline(const struct mg_volume *volume)
{
	return migrate_in_ms(migrate_volume_hold_ms(volume->client));
}

/* A new volume with one reference; takes over mount_fd even if it fails.  NULL: no memory. */
struct mg_volume *mg_volume_new(const char *name, const char *socket, int mount_fd, dev_t device);
struct mg_volume *mg_volume_ref(struct mg_volume *volume);
void mg_volume_unref(struct mg_volume *volume);
/* Notes the key of the root of a volume that is not attached; MDCACHE is to forget the root when
 * the volume is attached. */
void mg_volume_remember_root(struct mg_volume *volume, const void *key, size_t len);
/* begin adds one to an export's number of pending things, end takes one away; begin is false if the
 * export is closing. */
bool mg_pending_begin(struct mg_export *export);
void mg_pending_end(struct mg_export *export);

#endif
