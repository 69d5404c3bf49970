/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a file server's configuration makes it serve: exports of Ganesha, shares of Samba.  Lines
 * that are not understood are reported, and are no reason to refuse anything.  One thread.
 */
#ifndef CTL_DOORS_SERVED_H
#define CTL_DOORS_SERVED_H

#include <glib.h>
#include <stdbool.h>

struct served {
	char *name; /* "export 2", "share [projects]", "usershare [mine]" */
	char *path; /* as it is written; may have Samba's variables */
	bool layer; /* through FSAL MIGRATE, or vfs_migrate */
};

/* Takes a line for the administrator about something that is not understood. */
typedef void (*served_warn_fn)(void *arg, const char *line);

/* struct served, freed with the list. */
GPtrArray *served_new(void);
/* Adds a share or an export; served_by_...() call it. */
void served_add(GPtrArray *list, const char *name, const char *path, bool layer);
/* Adds what a configuration of Ganesha, with its includes, exports of this machine's file
 * systems. */
void served_by_ganesha(GPtrArray *list, const char *file, served_warn_fn warn, void *arg);
/* Adds what `testparm -s` has printed: every share, and for [homes] each user's directory; and the
 * usershares, which it does not print. */
void served_by_samba(GPtrArray *list, const char *text, served_warn_fn warn, void *arg);

#define USERSHARES_PATH "/var/lib/samba/usershares" /* Samba's default */
struct usershares {
	const char *path; /* the directory, "": there are none; NULL: the default */
	bool owner_only;  /* a user shares only directories of his own; root any */
	bool layer;	  /* as for struct served, of them all */
};
/* Adds the usershares.  served_by_samba() calls it. */
void served_by_usershares(GPtrArray *list, const struct usershares *shares);

/* Whether the export or share would show what is at root without the layer: its path is root, above
 * it or below it, through any links and mounts.  Warns if a variable may lead there. */
bool served_is_past(const struct served *served, const char *root, served_warn_fn warn, void *arg);
/* The same, with the layer or without. */
bool served_covers(const struct served *served, const char *root, served_warn_fn warn, void *arg);
/* Whether a volume that is not finalized is at root. */
bool served_is_unfinished(const char *root);
/* Whether one is there of which nothing is unfinished. */
bool served_is_whole(const char *root);
/* Whether root is certainly not the directory of a volume that is not finalized: it is another one,
 * or there is none. */
bool served_is_away(const char *root);

#endif
