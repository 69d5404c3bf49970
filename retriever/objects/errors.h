/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of objects whose last attempt failed, and of names that could not be made (I12), kept in
 * .migrate/errors across restarts.  Each is in it at most once.  An object leaves it when it
 * becomes whole, a name when it is made or its directory is filled.  Any thread.
 *
 * A million entries take less than 64 MiB (errors_index.h): what is said of one is in the file
 * alone, to which each change is appended (errors_entry.h), and which is written anew when most of
 * it is void.  Who adds or forgets does not wait for the disk: lines gather in memory until the
 * next errors_save(), and are written earlier when they are many.  If they cannot be written, more
 * entries than there is room for are left out, with a warning; so are those that a kill or a power
 * cut takes.  An object's record still says that it failed, and a walk of the tree (verify.h) lists
 * it again; a name's directory is unfilled, and the next attempt to fill it does.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_H
#define RETRIEVER_OBJECTS_ERRORS_H

#include "retriever/objects/errors_entry.h"
#include "retriever/objects/errors_reasons.h"
#include "retriever/objects/retriever.h"

struct errors;

/* The reason of whatever fails with -EAGAIN. */
#define ERRORS_LATER                                                                               \
	"the old server keeps saying \"later\" (is it on tape, in a cloud, or locked?): have it "  \
	"brought there, if you can; it is tried again now and then, and when somebody uses it"

struct errors *errors_new(int private_fd);
void errors_free(struct errors *errors);
/* Takes the list that is there; -1: an empty one that is not kept. */
void errors_set_directory(struct errors *errors, int private_fd);

void errors_add_fd(struct errors *errors, int fd, int status, const char *reason);
/* A name that could not be made in the directory dir_fd. */
void errors_add_name(struct errors *errors, int dir_fd, const char *name, int status,
		     const char *reason);
/* One that nothing can have here, as it is shown (text.h), or "": several.  Its entry's name is
 * errors_refused_name(), which no name is. */
void errors_add_refused(struct errors *errors, int dir_fd, const char *shown, int status,
			const char *reason);
char *errors_refused_name(const char *shown); /* g_free */
#define ERRORS_MORE "/"			      /* of several */
void errors_forget(struct errors *errors, const struct migrate_binding *key);
bool errors_has(struct errors *errors, const struct migrate_binding *key);
/* The name was made, or is none of the old server's any more. */
void errors_forget_name(struct errors *errors, const struct migrate_binding *dir, const char *name);
/* All names of that directory. */
void errors_forget_names(struct errors *errors, const struct migrate_binding *dir);
void errors_forget_all(struct errors *errors);

guint errors_count(struct errors *errors);
/* When the reason came up that has stood longest, seconds since the epoch; 0: none, or not known.
 */
gint64 errors_since(struct errors *errors);

/* ---- listing: these block for the disk ---- */

/*
 * The first entry at *place or behind it that the filter (or NULL: any) lets through, and its
 * place. False: there is none.  Places begin with 0 and have gaps.
 */
bool errors_get(struct errors *errors, guint *place, const struct errors_filter *filter,
		struct error_entry *entry);
/* All places are below it. */
guint errors_places(struct errors *errors);
/* The names listed of a directory: char *. */
GPtrArray *errors_names(struct errors *errors, const struct migrate_binding *dir);

/* Likewise the reasons, each once; text is NULL for ERRORS_REASON_OTHER, else g_free. */
bool errors_get_reason(struct errors *errors, guint *place, struct error_reason *reason);

/* Makes durable what has changed since the last time.  Blocks for the disk. */
void errors_save(struct errors *errors);

#endif
