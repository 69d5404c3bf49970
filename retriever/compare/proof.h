/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The proof that content came over: both sides are read again and compared, the old one through
 * its backend, in the background, under the volume's bandwidth and pause; this one from the disk.
 *
 * A run has threads of its own: one for each of a few directories, a pool for their files, a pool
 * that reads the disk; all as unhurried as the crawler's work (thread.h).  It ends with what it
 * found in PROOF_DIR (lib/report/manifest/finding.h), and goes on after a stop, a kill, or a new
 * start of the retriever, when it is begun again: what was being compared in a directory then is
 * compared anew.
 *
 * What the proof rests on: entries come from the old server's listings and from this side's, so
 * what neither lists is in neither; bytes are compared as both sides give them, one file after the
 * other, so a volume in use is a moving thing: what clients change is told apart (clients.h).
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
 * Begins a run, or goes on with one that was cut short, if it has the same sample, and the same
 * seed where one is given.  0; -EALREADY: one is under way; -EINVAL: there is nothing to compare;
 * -errno with *message, one line (g_free).  Blocks for the disk.
 */
int proof_begin(struct proof *proof, const struct proof_how *how, char **message);
/* It ends soon, and can be gone on with. */
void proof_stop(struct proof *proof);
/* One that nobody has asked about for a while is stopped, which is waited for.  Whether none is
 * under way any more. */
bool proof_give_way(struct proof *proof);

/* [proof] as of control.h, g_free.  Blocks for the disk. */
char *proof_text(struct proof *proof);
/* A page of findings from offset `start` on, likewise. */
char *proof_list(struct proof *proof, guint64 start);

bool proof_is_under_way(struct proof *proof);

#endif
