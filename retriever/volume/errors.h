/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of objects whose last attempt failed, and of names that could not be made (I12), kept in
 * .migrate/errors across restarts.  Each is in it at most once.  An object leaves it when it
 * becomes whole, a name when it is made or its directory is filled.  Any thread.
 */
#ifndef ERRORS_H
#define ERRORS_H

#include "retriever.h"

struct errors;

struct error_entry {
	struct migrate_binding key; /* the object, or for a name its directory */
	char *name;		    /* NULL: the object itself */
	char *path;		    /* when it failed; printable */
	char *reason;
	int status; /* -errno */
};

struct errors *errors_new(int private_fd);
void errors_free(struct errors *errors);
void errors_set_directory(struct errors *errors, int private_fd);

void errors_add_fd(struct errors *errors, int fd, int status, const char *reason);
/* A name that could not be made in the directory dir_fd. */
void errors_add_name(struct errors *errors, int dir_fd, const char *name, int status,
		     const char *reason);
/* One that nothing can have here, as it is shown (refused.h), or "": several.  Its entry's name is
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

guint errors_count(struct errors *errors);
/* A copy of entry i; FALSE beyond the end.  Clear with error_entry_clear. */
gboolean errors_get(struct errors *errors, guint i, struct error_entry *entry);
void error_entry_clear(struct error_entry *entry);
/* Takes everything out of the list: a GPtrArray of struct error_entry. */
GPtrArray *errors_take(struct errors *errors);

/* Writes the list if it has changed since it was written.  Blocks for the disk. */
void errors_save(struct errors *errors);

#endif
