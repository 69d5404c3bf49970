/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the proof (migratectl verify --content): reads the whole tree again on both sides and
 * compares it.  The old server is read through its backend, in the background, under the volume's
 * bandwidth limit and pause; the new server is read from its disk.
 *
 * A run has threads of its own: a few that compare a directory each, a pool for files, and a pool
 * that reads the disk, all at the low priority of the crawler's work (thread.h).  Its findings are
 * in PROOF_DIR (lib/report/manifest/finding.h).  After a stop, a kill, or a new start of the
 * retriever, proof_begin() goes on with the run: directories that were not compared to their end
 * are compared anew.
 *
 * Limits of the proof: entries come from the listings of both sides, so an object that neither side
 * lists is not seen.  Bytes are compared as both sides return them, one file after the other, while
 * clients change the volume: their changes are told from errors by clients.h.
 */
#ifndef RETRIEVER_COMPARE_PROOF_H
#define RETRIEVER_COMPARE_PROOF_H

#include "retriever/compare/log.h"
#include "retriever/objects/retriever.h"

struct proof;

struct proof_how {
	unsigned sample; /* of 100000 files: visit.h */
	guint64 seed;
	bool seeded; /* the seed was given */
};

struct proof *proof_new(struct retriever *retriever);
/* After the gate is closed: waits for the run's threads. */
void proof_free(struct proof *proof);

/*
 * Begins a run, or goes on with a run that was cut short, if it has the same sample, and the same
 * seed where a seed is given.  0; -EALREADY: a run is under way; -EINVAL: there is nothing to
 * compare; -errno with *message, one line (g_free).  Blocks for the disk.
 */
int proof_begin(struct proof *proof, const struct proof_how *how, char **message);
/* Stops the run, which ends soon; proof_begin() can go on with it. */
void proof_stop(struct proof *proof);
/* Stops a run about which migratectl has not asked for a while, and waits until it has ended, for a
 * limited time.  Whether no run is under way any more. */
bool proof_give_way(struct proof *proof);

/* [proof] as of control.h, g_free.  Blocks for the disk. */
char *proof_text(struct proof *proof);
/* A page of findings from offset `start` on, as text of control.h, g_free.  Blocks for the disk. */
char *proof_list(struct proof *proof, guint64 start);

bool proof_is_under_way(struct proof *proof);

#endif
