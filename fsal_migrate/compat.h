/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What differs between the interfaces of Ganesha's releases.  CMake picks compat_<interface>.c, and
 * the newest compat_names_*.c and compat_link_*.c that the interface is not too old for.
 * compat_names_*.c have the operations that name things, which from interface 13 on also return
 * attributes of the directories.
 */
#ifndef FSAL_MIGRATE_COMPAT_H
#define FSAL_MIGRATE_COMPAT_H

#include "fsal_migrate/door.h"

struct mg_object;

/* What an operation also returns about its directories from interface 13 on; NULL before. */
struct mg_parents {
	struct fsal_attrlist *pre, *post;
	struct fsal_attrlist *new_pre, *new_post; /* rename's destination */
};

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

/* A directory, a symbolic link, or a special file that is to be made. */
struct mg_make {
	object_file_type_t type;
	const char *name, *target; /* of a symbolic link */
	struct fsal_attrlist *attrs_in, *attrs_out;
	struct fsal_obj_handle **made;
	const struct mg_parents *parents;
};

/* The operations that name things, whatever the interface; the files that have them enter them
 * here. */
struct mg_names {
	fsal_status_t (*make)(struct mg_object *dir, const struct mg_make *make);
	fsal_status_t (*link)(struct mg_object *object, struct mg_object *dir, const char *name,
			      const struct mg_parents *parents);
	fsal_status_t (*rename)(struct mg_object *object, struct mg_object *olddir,
				const char *old_name, struct mg_object *newdir,
				const char *new_name, const struct mg_parents *parents);
	fsal_status_t (*unlink)(struct mg_object *dir, struct mg_object *object, const char *name,
				const struct mg_parents *parents);
	fsal_status_t (*open2)(struct mg_object *object, const struct mg_open *open);
};
extern struct mg_names mg_names;

void compat_handle_init(struct fsal_obj_handle *handle, struct fsal_export *export,
			object_file_type_t type);
void compat_handle_fini(struct fsal_obj_handle *handle);
void compat_export_ops_init(struct export_ops *ops);
/* Whether the FSAL below asked to be called a second time for this request. */
bool compat_resumes(const struct fsal_io_arg *arg);

/* Set the members whose functions have other signatures in other releases. */
void compat_names_ops_init(struct fsal_obj_ops *ops);
void compat_link_ops_init(struct fsal_obj_ops *ops);

/* The FSAL below; between mg_enter() and mg_leave(). */
/* make->made is not used: the result is the object below. */
fsal_status_t compat_make(struct fsal_obj_handle *dir, const struct mg_make *make,
			  struct fsal_obj_handle **made);
fsal_status_t compat_link(struct fsal_obj_handle *object, struct fsal_obj_handle *dir,
			  const char *name, const struct mg_parents *parents);
fsal_status_t compat_rename(struct fsal_obj_handle *object, struct fsal_obj_handle *olddir,
			    const char *old_name, struct fsal_obj_handle *newdir,
			    const char *new_name, const struct mg_parents *parents);
fsal_status_t compat_unlink(struct fsal_obj_handle *dir, struct fsal_obj_handle *object,
			    const char *name, const struct mg_parents *parents);
/* open->made is not used: the result is the object below. */
fsal_status_t compat_open2(struct fsal_obj_handle *object, const struct mg_open *open,
			   fsal_openflags_t flags, struct fsal_obj_handle **made);

#endif
