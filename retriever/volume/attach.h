/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The beginning: the volume's root becomes that of the source. */
#ifndef RETRIEVER_VOLUME_ATTACH_H
#define RETRIEVER_VOLUME_ATTACH_H

#include "retriever/objects/retriever.h"

/* How; all FALSE: an empty root, or one with a copy of ours. */
struct attach {
	bool adopt;   /* what is in the root was copied by another tool */
	bool content; /* bytes are compared too, where nothing of ours says that they are right */
	bool keep_extra; /* of that: what the old server does not have stays */
	bool accept;	 /* another old root than the one that was copied is right, and any number
			  * of names that are gone */
};

/*
 * Binds the root to the source: its record and .migrate/.  What is there already becomes the prior
 * copy (prior.h).  Blocks for the disk and for one round trip: slow thread.  0, -ERESTART (copy.h),
 * or -errno with *message, one line that says what to do (g_free).
 */
int attach_volume(struct retriever *retriever, const struct attach *how, char **message);

/* What a root's record says of it, but the binding. */
void attach_root_record(struct migrate_record *rec, const struct source_object *root,
			const struct source_attr *attr);
/* Gives the root the attributes that the old one has now.  0 or -errno. */
int attach_refresh_root(struct retriever *retriever);

/* Puts what no object comes with into the report.  0 or -errno. */
int attach_report(struct retriever *retriever);

#endif
