/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The objects that the module shows to NFS-Ganesha.  Each stands before an object of FSAL VFS, the
 * module below, and knows whether the retriever has finished it. */
#ifndef FSAL_MIGRATE_OBJECT_H
#define FSAL_MIGRATE_OBJECT_H

#include "fsal_migrate/volume.h"

struct mg_call;

/* mg_object.normal: it is not known; the object is normal for ever (I1); it can never be a stub. */
enum { MG_UNKNOWN, MG_NORMAL, MG_ALWAYS };

struct mg_object {
	struct fsal_obj_handle handle;
	struct fsal_obj_handle *sub;
	struct mg_volume *volume; /* counted */
	bool on_volume;		  /* on the volume's own file system */
	atomic_uint normal;
	atomic_int_fast64_t removed; /* when its last name was removed, ns; 0: not seen here */
	/* Until when MDCACHE may keep the attributes that it got last, CLOCK_MONOTONIC in s; 0: as
	 * long as the export says. */
	atomic_int_fast64_t kept_until;
	atomic_bool filled; /* a directory that is or was filled: it is never unfilled again */

	/* volume.lock from here on */
	atomic_int kept;	 /* descriptor of a file that was unlinked unfinished, or -1 */
	struct mg_call *fill;	 /* of an unfilled directory, counted */
	struct glist_head names; /* single names asked for, struct mg_call, counted */
	unsigned n_names;
	bool window_open; /* see fill.c */
	struct timespec window_end;
	struct glist_head fetches; /* of a file, struct mg_fetch */
	unsigned n_fetches;
};

/* Filled in by main.c. */
extern struct fsal_obj_ops mg_obj_ops;

static inline struct mg_object *mg_object(struct fsal_obj_handle *handle)
{
	return container_of(handle, struct mg_object, handle);
}

/* A function that calls an operation of the FSAL below: its parameter `handle` is the module's
 * object, `sub` among the arguments is the object below. */
#define MG_DOWN(type, name, op, params, ...)                                                       \
	static type name params                                                                    \
	{                                                                                          \
		struct mg_export *export = mg_enter();                                             \
		struct fsal_obj_handle *sub = mg_object(handle)->sub;                              \
		type result = sub->obj_ops->op(__VA_ARGS__);                                       \
                                                                                                   \
		mg_leave(export);                                                                  \
		return result;                                                                     \
	}

/* A new object over sub; it owns sub from now on. */
struct mg_object *mg_object_new(struct mg_export *export, struct fsal_obj_handle *sub);
/* Opens the object read-only and without touching its atime.  -ESTALE: the object is gone.  Else
 * -errno. */
int mg_object_open(struct mg_object *object);
/* mg_up_invalidate() of this object, soon; in an operation. */
void mg_object_forget(struct mg_object *object, bool names);
/* Keeps a file that is about to lose its last name in existence, for the reads that are under way.
 * Takes over fd. */
void mg_object_keep(struct mg_object *object, int fd);
/* Closes the object's own descriptor; each open state has another one. */
void mg_object_let_go(struct mg_object *object);

/* Whether the object was found normal, and so is for ever.  A directory may become FILLED again,
 * which makes no difference for the directory itself.  Says nothing about the objects in a
 * directory.  Costs no system call. */
bool mg_is_normal(struct mg_object *object);
/*
 * The same for a file whose bytes are about to be read or changed.  On an ext4 that has found
 * errors in itself (migrate_damaged()) a file that was whole can be a stub again, with its record.
 * So from then on the record is looked at each time; the errors are noticed within a second.
 */
bool mg_is_whole(struct mg_object *object);
void mg_set_normal(struct mg_object *object);
/* The directory may have its record again (PLACE), which shows the ctime that clients know until a
 * name in the directory is changed. */
void mg_set_filled(struct mg_object *dir);

/* An object that was opened and whose record was loaded. */
struct mg_look {
	int fd; /* valid unless mg_look() failed */
	struct migrate_stub stub;
};

/*
 * Opens the object and loads its record.  1: unfinished.  0: normal, and remembered.  Negative:
 * -ESTALE when it is gone, -EBADMSG for a damaged record, or another -errno; then nothing has to be
 * cleaned up.  Otherwise mg_look_done() has to follow.
 */
int mg_look(struct mg_object *object, struct mg_look *look);
void mg_look_done(struct mg_look *look);
/* migrate_read_confirm(), with -errno as of mg_look(). */
int mg_look_confirm(struct mg_object *object, const struct migrate_found *found,
		    const struct fsal_io_arg *arg);
/* The look's descriptor, which the caller owns from then on. */
int mg_look_steal_fd(struct mg_look *look);

#endif
