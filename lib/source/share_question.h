/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks an old server for its SMB shares (ask.h). */
#ifndef LIB_SOURCE_SHARE_QUESTION_H
#define LIB_SOURCE_SHARE_QUESTION_H

#include <glib.h>
#include <stdbool.h>

/* Takes one share; type: disk, printer, ipc or other, a constant.  FALSE: no more of them. */
typedef gboolean (*share_fn)(void *arg, const char *name, const char *type, const char *comment);

struct share_question {
	const char *program; /* as for ask() */
	const char *address; /* of the server: ask_address() */
	unsigned wait;	     /* s, as for ask() */
	const char *dialect; /* Samba's word; with a +: that one or a later; "": any */
	const char *user;    /* "": nobody in particular */
	const char *domain, *password;
	/* what comes of it */
	bool spoken;	  /* SMB, with a refusal or without */
	bool refused;	  /* the list */
	gboolean lasting; /* as of ask() */
};

/* Calls each for every share, in the server's order; names are the server's, any bytes.  NULL, or
 * why not all were told, as ask() says it.  Blocks. */
char *share_ask(struct share_question *asked, share_fn each, void *arg);

#endif
