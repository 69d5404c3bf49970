/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The volume as a whole: attach, its state, the counters' cache, the proof that all is done, and
 * the end.  These block for the disk (and attach for one round trip): main thread at start, else
 * the slow thread.  Errors: -errno with *message set, one line that says what to do (g_free).
 */
#ifndef VOLUME_H
#define VOLUME_H

#include "volume/retriever.h"

enum volume_state { VOLUME_UNATTACHED, VOLUME_MIGRATING, VOLUME_WHOLE, VOLUME_FINISHED };

enum volume_state volume_state(struct retriever *retriever);
const char *volume_state_name(enum volume_state state);

/*
 * The mode with which .migrate/ is made.  The sticky bit stands there until the root has its
 * record, so that an attach that was cut short is told from an empty volume that is whole.
 */
#define VOLUME_ATTACHING 01700
void volume_attached(struct retriever *retriever);

/* Binds the empty root to the source: its record and .migrate/. */
int volume_attach(struct retriever *retriever, char **message);

struct volume_count {
	uint64_t objects, unfinished;
	int64_t directories, directories_whole, unfilled, files, files_whole, bytes, bytes_whole;
	char *first; /* the path of an unfinished object, g_free */
};

/*
 * Looks at every object of the new tree (not of .migrate/), also below normal directories, by
 * descriptor: memory by the number of directories at one level, no path is used.  Sets the
 * counters right.
 */
int volume_verify(struct retriever *retriever, struct volume_count *count, char **message);

/* Proves that nothing is unfinished, keeps the report elsewhere, then removes what is ours. */
int volume_finalize(struct retriever *retriever, char **message);

/* Puts what no object comes with into the report.  0 or -errno. */
int volume_report(struct retriever *retriever);

/* The counters, from and to .migrate/state.  A state that was not saved at a clean end is not
 * exact. */
void volume_load_counters(struct retriever *retriever);
void volume_save_counters(struct retriever *retriever, bool clean);

#endif
