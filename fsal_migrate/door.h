/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FSAL MIGRATE: the NFS door of a migrating volume, stacked over FSAL VFS.
 *
 * Every operation goes down to VFS unchanged unless the object it touches is unfinished.  Then it
 * first waits until what it needs is here (gate.h), or is bracketed (bracket.h), or is parked
 * without a thread (io.c), and the times and the space it shows are the record's (attrs.c).
 * What takes longer than the hold time is answered ERR_FSAL_DELAY, which the protocol layer turns
 * into NFS3ERR_JUKEBOX or NFS4ERR_DELAY, while the work goes on.
 *
 * MDCACHE, which sits above, holds locks across some calls: a directory's content lock for writing
 * in lookup, readdir and rename, an object's attribute lock in getattrs.  Whoever waits in these
 * keeps others from objects that are whole, and, because MDCACHE takes a directory's content lock
 * whenever its handle comes in a request, from whatever is done by that handle.  So lookup and
 * readdir wait for their own directory only and no longer than the hold time together (gate.c),
 * getattrs never waits and never answers DELAY, and the number of threads that wait at all is
 * limited (call.c).
 *
 * Locks, in the order in which they are taken:
 *   module.lock       the list of volumes, their numbers of exports
 *   volume.lock       gates, parked requests, the list of exports; see the members
 *   the locks of libmigrate, and of pool.c (leaves)
 * None is held across a call of the FSAL below, of MDCACHE or of the protocol layer, nor across
 * anything that waits.  libmigrate's requests may be made under volume.lock: they never block.
 */
#ifndef DOOR_H
#define DOOR_H

#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fsal.h"
#include "fsal_api.h"
#include "FSAL/fsal_commonlib.h"
#include "gsh_list.h"

#include "migrate.h"

struct mg_module {
	struct fsal_module fsal;
	struct fsal_obj_ops obj_ops;
	/* configuration block MIGRATE */
	uint32_t max_waiters; /* threads of the protocol layer that may wait at a time */
	uint32_t workers;     /* threads that complete parked requests */
	pthread_mutex_t lock;
	struct glist_head volumes; /* lock */
	atomic_uint waiters;
};
extern struct mg_module mg_module;

/* One volume, shared by all exports of it. */
struct mg_volume {
	struct glist_head link; /* module.lock */
	unsigned exports;	/* module.lock */
	atomic_uint refs;	/* exports, objects, calls; freed with the last */
	/* constant */
	char *name;
	char *socket; /* NULL: the default */
	int mount_fd; /* any directory on the volume's file system */
	dev_t device;
	/* Valid while there are exports, and so during every operation. */
	struct migrate_volume *client;
	pthread_t dispatcher;
	atomic_bool stop;

	atomic_bool finished;	/* everything is normal for ever: nothing is looked at any more */
	atomic_bool unproven;	/* an export has no record at its root or above: it may be above the
				 * volume's root, where no record proves nothing */
	atomic_bool inspected;	/* the others are known: before, neither is to be concluded */
	atomic_bool unattached; /* the root was empty and without a record when exported */
	/* Of an unattached root; NULL: not looked up yet.  Set under volume.lock, taken by the
	 * dispatcher. */
	void *root_key;
	size_t root_key_len;

	pthread_mutex_t lock;
	pthread_cond_t idle;	       /* an export's pending fell to 0 */
	struct glist_head export_list; /* lock */
};

struct mg_export {
	struct fsal_export fsal;
	struct mg_volume *volume; /* counted */
	/* The volume's root, if it is this export's root: the directory that hides .migrate. */
	bool has_root;
	uint64_t root_fileid;
	struct glist_head link; /* volume.lock, in export_list */
	bool closing;		/* volume.lock */
	unsigned pending;	/* volume.lock: parked requests and upcalls */
	struct glist_head ios;	/* volume.lock: parked requests */
};

struct mg_call;

#define MG_ALWAYS UINT64_MAX /* mg_object.normal of what is no stub in any case */

struct mg_object {
	struct fsal_obj_handle handle;
	struct fsal_obj_handle *sub;
	struct mg_volume *volume; /* counted */
	bool on_volume;		  /* on the volume's own file system */
	/* 0: not known to be normal.  Else migrate_volume_placings() + 1 of when it was found
	 * normal: for a file that is for ever (I1), for a directory's children as long as that is
	 * the same. */
	atomic_uint_fast64_t normal;
	atomic_int_fast64_t removed; /* when the last name went, ns; 0 where nobody saw it */
	atomic_bool filled;	     /* a directory that is filled or was; never unfilled again */

	/* volume.lock from here on */
	atomic_int kept;	 /* descriptor of a file that was unlinked unfinished, or -1 */
	struct mg_call *fill;	 /* of an unfilled directory, counted */
	struct glist_head names; /* single names asked for, struct mg_name */
	unsigned n_names;
	bool window_open; /* see gate.c */
	struct timespec window_end;
	struct glist_head fetches; /* of a file, struct mg_fetch */
	unsigned n_fetches;
};

/* What an operation also returns about its directories from FSAL interface 13 on; NULL before. */
struct mg_parents {
	struct fsal_attrlist *pre, *post;
	struct fsal_attrlist *new_pre, *new_post; /* rename's destination */
};

static inline struct mg_object *mg_object(struct fsal_obj_handle *handle)
{
	return container_of(handle, struct mg_object, handle);
}

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

static inline fsal_status_t mg_ok(void)
{
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static inline fsal_status_t mg_delay(void)
{
	return fsalstat(ERR_FSAL_DELAY, 0);
}

/* The status for a result of libmigrate's requests. */
fsal_status_t mg_status(int result);
/* The status for a negative result of mg_look(), where -ESTALE means that the object is gone. */
fsal_status_t mg_look_status(int result);

/* CLOCK_MONOTONIC */
struct timespec mg_now(void);
struct timespec mg_add_ms(struct timespec at, unsigned ms);
bool mg_before(struct timespec a, struct timespec b);
/* Now and the volume's hold time. */
struct timespec mg_deadline(const struct mg_volume *volume);

/* ---- volume.c ------------------------------------------------------------------------------- */

/*
 * The volume for an export of the directory path; starts its connection with the first export.
 * 0; -EXDEV: another export of this volume is on another file system; else -errno.
 */
int mg_volume_get(const char *name, const char *socket, const char *path,
		  struct mg_volume **volume);
/* For every successful get; with the last one the connection is closed, every request completes. */
void mg_volume_put(struct mg_volume *volume);
struct mg_volume *mg_volume_ref(struct mg_volume *volume);
void mg_volume_unref(struct mg_volume *volume);
/*
 * Whether anything can be unfinished at or below the directory path, and whether path is the
 * volume's root (I5: the volume's root and everything down to path has a record, or nothing at
 * path and below is unfinished).  0, or -errno: -EBADMSG for a damaged record.
 */
int mg_volume_inspect(struct mg_volume *volume, const char *path, bool *is_root);
/* The key of the root of a volume that is not attached, which MDCACHE is to forget then. */
void mg_volume_remember_root(struct mg_volume *volume, const void *key, size_t len);
/* Adds to, takes from an export's number of pending things; begin is false when it is closing. */
bool mg_pending_begin(struct mg_export *export);
void mg_pending_end(struct mg_export *export);

/* ---- handle.c ------------------------------------------------------------------------------- */

/* A new object over sub, which it owns from now on. */
struct mg_object *mg_object_new(struct mg_export *export, struct fsal_obj_handle *sub);
/* Opens it read-only and without touching its atime.  -ESTALE: it is gone.  Else -errno. */
int mg_object_open(struct mg_object *object);
/* Keeps the file there, which is about to lose its last name, for the reads that are under way;
 * takes over fd. */
void mg_object_keep(struct mg_object *object, int fd);
/* Whoever still has it open has a descriptor of his own. */
void mg_object_let_go(struct mg_object *object);
/* The object that an operation made: normal from the start.  Returns status. */
fsal_status_t mg_object_made(struct mg_export *export, struct fsal_obj_handle *sub, uint64_t places,
			     fsal_status_t status, struct fsal_obj_handle **handle);
/* In an operation, outside of enter and leave. */
void mg_object_release(struct fsal_obj_handle *handle);
void mg_handle_ops_init(struct fsal_obj_ops *ops);
void mg_handle_export_ops_init(struct export_ops *ops);

/* ---- export.c ------------------------------------------------------------------------------- */

fsal_status_t mg_create_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, const struct fsal_up_vector *up_ops);
fsal_status_t mg_update_export(struct fsal_module *module, void *node,
			       struct config_error_type *err, struct fsal_export *original,
			       struct fsal_module *super);

/* ---- operations ----------------------------------------------------------------------------- */

void mg_namespace_ops_init(struct fsal_obj_ops *ops);
void mg_file_ops_init(struct fsal_obj_ops *ops);
void mg_io_ops_init(struct fsal_obj_ops *ops);
void mg_attrs_ops_init(struct fsal_obj_ops *ops);
void mg_xattrs_ops_init(struct fsal_obj_ops *ops);

/* Called by the compat files, which have the signatures of the host. */
fsal_status_t mg_mkdir(struct mg_object *dir, const char *name, struct fsal_attrlist *attrs_in,
		       struct fsal_obj_handle **made, struct fsal_attrlist *attrs_out,
		       const struct mg_parents *parents);
fsal_status_t mg_mknode(struct mg_object *dir, const char *name, object_file_type_t type,
			struct fsal_attrlist *attrs_in, struct fsal_obj_handle **made,
			struct fsal_attrlist *attrs_out, const struct mg_parents *parents);
fsal_status_t mg_symlink(struct mg_object *dir, const char *name, const char *target,
			 struct fsal_attrlist *attrs_in, struct fsal_obj_handle **made,
			 struct fsal_attrlist *attrs_out, const struct mg_parents *parents);
fsal_status_t mg_link(struct mg_object *object, struct mg_object *dir, const char *name,
		      const struct mg_parents *parents);
fsal_status_t mg_rename(struct mg_object *object, struct mg_object *olddir, const char *old_name,
			struct mg_object *newdir, const char *new_name,
			const struct mg_parents *parents);
fsal_status_t mg_unlink(struct mg_object *dir, struct mg_object *object, const char *name,
			const struct mg_parents *parents);

struct mg_open {
	struct state_t *state;
	fsal_openflags_t flags;
	enum fsal_create_mode create;
	const char *name; /* NULL: the object itself is opened */
	struct fsal_attrlist *attrs_in;
	char *verifier;
	struct fsal_obj_handle **made;
	struct fsal_attrlist *attrs_out;
	bool *caller_perm_check;
	const struct mg_parents *parents;
};
fsal_status_t mg_open2(struct mg_object *object, const struct mg_open *open);

/* rename.c: whether name is the private directory in dir, the root of its volume. */
bool mg_is_root(const struct mg_object *dir);
bool mg_hidden(struct mg_object *dir, const char *name);
/* Whether the private directory is in the root; true where it cannot be told. */
bool mg_has_private(struct mg_object *root);
/* Everything that must be true before a name is made in dir: ok, ERR_FSAL_ACCESS, DELAY, ... */
fsal_status_t mg_may_name(struct mg_object *dir, const char *name);

/* ---- up.c ----------------------------------------------------------------------------------- */

/*
 * Makes MDCACHE forget the attributes, and of a directory with names what it knows to be there and
 * not to be there, of the object with this key; from a thread of the pool.  Then done (may be
 * NULL), at once where that is not possible.
 */
void mg_up_invalidate(struct mg_volume *volume, const void *key, size_t len, bool names,
		      void (*done)(void *arg), void *arg);

#endif
