/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells differences that clients have made since the switch from those that are errors. */
#ifndef RETRIEVER_COMPARE_CLIENTS_H
#define RETRIEVER_COMPARE_CLIENTS_H

#include "journal/store/reader.h"
#include "lib/source/source.h"
#include "retriever/objects/retriever.h"

struct clients;

enum clients_aspect {
	CLIENTS_CONTENT,    /* a file's bytes and size, or that another object has its name */
	CLIENTS_ATTRIBUTES, /* owner, mode, times, ACL, extended attributes, links */
	CLIENTS_NAMES,	    /* of a directory */
};

/* Returns the process's one struct clients: while it is in use, further callers get the same one.
 * All callers must be of one retriever. */
struct clients *clients_new(struct retriever *retriever);
void clients_free(struct clients *clients);

/*
 * Whether clients have changed that aspect of the object.  fd: any descriptor of it; there: its
 * attributes on the old server.  differs: the aspect does differ; if not, the caller only asks
 * whether to compare at all, and the answer is false for an object that has the old server's times.
 * Any thread; blocks for the disk, and for changes that the journal is about to learn.
 *
 * The journal (store/reader.h) decides, if it knows.  Else times decide: a client's change sets
 * mtime to the time of the change, which is after the object was made here (its time of birth); an
 * mtime that came from the old server is older, or is the one that the old server has now.  So
 * times do not show a change by a client that sets mtime back itself (rsync, touch -r), nor a
 * change of attributes alone, because fills change ctime too: such changes are called differences.
 */
bool proof_is_clients(struct clients *clients, int fd, const struct source_attr *there,
		      enum clients_aspect aspect, bool differs);

/*
 * For who needs certainty: waits until all that was done before the call is in the journal.  FALSE:
 * there is none, or it does not know all that was changed; *why: one line (g_free).  Any thread;
 * blocks.
 */
bool clients_settle(struct clients *clients, char **why);
/* What the journal said of the object when clients_settle() was called last: JOURNAL_UNCHANGED if
 * nobody but the retriever has changed it. */
enum journal_answer clients_find(struct clients *clients, const struct migrate_binding *handle,
				 struct journal_row *row);

/* "journal" or "times": which of the two decides. */
const char *clients_told_by(struct clients *clients);

#endif
