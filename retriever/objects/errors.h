/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of errors: objects whose last attempt failed, and names that could not be made (I12).
 * .migrate/errors keeps the list across restarts.  Each object and each name is in it at most once.
 * An object leaves the list when it becomes whole, a name when it is made or its directory is
 * filled.  Any thread.
 *
 * A million entries take less than 64 MiB of memory (errors_index.h): the texts of an entry are in
 * the file alone.  Each change is appended to the file (errors_entry.h), and the file is written
 * anew when most of its lines are void.  A caller that adds or forgets an entry does not wait for
 * the disk: lines gather in memory until the next errors_save(), and are written earlier when they
 * are many.  If lines cannot be written, entries for which memory has no room are left out, with a
 * warning; a kill or a power cut loses the lines that were not written.  A lost entry comes back:
 * an object's record still says that the object failed, and a walk of the tree (verify.h) lists it
 * again; the directory of a name is still unfilled, and the next attempt to fill the directory
 * lists the name again.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_H
#define RETRIEVER_OBJECTS_ERRORS_H

#include "retriever/objects/errors_entry.h"
#include "retriever/objects/errors_reasons.h"
#include "retriever/objects/retriever.h"

struct errors;

struct errors *errors_new(int private_fd);
void errors_free(struct errors *errors);
/* Uses the list in that directory from now on; -1: an empty list, which is not kept. */
void errors_set_directory(struct errors *errors, int private_fd);

/* An object that failed.  QM_LATER is the error of every failure with -EAGAIN. */
void errors_add_fd(struct errors *errors, int fd, int status, enum error_code error);
/* about: what the cause is about, which stands before the sentence, or NULL. */
void errors_add_about(struct errors *errors, int fd, int status, enum error_code error,
		      const char *about);
/* A name that could not be made in the directory dir_fd. */
void errors_add_name(struct errors *errors, int dir_fd, const char *name, int status,
		     enum error_code error, const char *about);
/* A name that no object can have here; shown: the name as it is displayed (text.h), or "" for one
 * entry that stands for several names.  The entry's name is errors_refused_name(), which cannot be
 * the name of a file. */
void errors_add_refused(struct errors *errors, int dir_fd, const char *shown, int status,
			enum error_code error, const char *about);
char *errors_refused_name(const char *shown); /* g_free */
#define ERRORS_MORE "/"			      /* of several */
void errors_forget(struct errors *errors, const struct migrate_binding *key);
bool errors_has(struct errors *errors, const struct migrate_binding *key);
/* The name was made, or the old server does not have it any more. */
void errors_forget_name(struct errors *errors, const struct migrate_binding *dir, const char *name);
/* All names of that directory. */
void errors_forget_names(struct errors *errors, const struct migrate_binding *dir);
void errors_forget_all(struct errors *errors);

guint errors_count(struct errors *errors);
/* How many have each code, in the order of error_kinds[]. */
void errors_count_codes(struct errors *errors, guint counts[static ERROR_KINDS]);
/* When the oldest reason that some entry still has came up, seconds since the epoch; 0: the list is
 * empty, or the time is not known. */
gint64 errors_since(struct errors *errors);

/* ---- listing: these block for the disk ---- */

/*
 * Finds the first entry at *place or behind it that the filter lets through (NULL: every entry),
 * and sets *place to its place.  False: there is no such entry.  Places begin with 0 and have gaps.
 */
bool errors_get(struct errors *errors, guint *place, const struct errors_filter *filter,
		struct error_entry *entry);
/* All places are below it. */
guint errors_places(struct errors *errors);
/* The names listed of a directory: char *. */
GPtrArray *errors_names(struct errors *errors, const struct migrate_binding *dir);

/* As errors_get(), for reasons: each reason once.  reason->text is NULL for what is not known
 * one by one (errors_reasons.h), else the caller frees it with g_free(). */
bool errors_get_reason(struct errors *errors, guint *place, struct error_reason *reason);

/* Makes durable what has changed since the last time.  Blocks for the disk. */
void errors_save(struct errors *errors);

#endif
