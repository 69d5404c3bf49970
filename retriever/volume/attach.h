/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attaches a volume: binds its root to the source's root on the old server. */
#ifndef RETRIEVER_VOLUME_ATTACH_H
#define RETRIEVER_VOLUME_ATTACH_H

#include "retriever/objects/retriever.h"
#include "retriever/objects/state.h"

/* How to attach.  All FALSE: the root is empty, or has a copy that migratectl copy made. */
struct attach {
	bool adopt;	 /* another tool copied what is in the root */
	bool content;	 /* bytes are compared too, where no mark says that they are right */
	bool keep_extra; /* with adopt: objects that the old server does not have stay */
	bool accept;	 /* another old root than the one that was copied is right, and any number
			  * of names that are gone */
};

/*
 * Binds the root to the source: makes the root's record and .migrate/.  Objects that are there
 * already become the prior copy (prior.h).  Blocks for the disk and for one round trip: slow
 * thread.  0, -ERESTART (copy.h), or -errno with *message, one line that says what to do (g_free).
 */
int attach_volume(struct retriever *retriever, const struct attach *how, char **message);

/* Whether the volume was attached elsewhere, or its directory is not what is there now, and then
 * *message, one line that says what to do (g_free). */
bool attach_is_away(const struct volume_config *config, char **message);

/* Fills in the record of a root, without the binding. */
void attach_root_record(struct migrate_record *rec, const struct source_object *root,
			const struct source_attr *attr);
/* Gives the root the attributes that the old one has now.  0 or -errno. */
int attach_refresh_root(struct retriever *retriever);

/* Notes whether the volume is attached (lib/config/attached.h), or says why it cannot. */
void attach_note(const struct volume_config *config, bool attached);
/* The same when the retriever starts, as far as the root tells: what is not there may be on a file
 * system that is not mounted. */
void attach_note_found(const struct retriever *retriever, enum volume_state state);

/* Puts the losses that concern every object of the volume into the report.  0 or -errno. */
int attach_report(struct retriever *retriever);

#endif
