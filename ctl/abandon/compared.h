/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a comparison tells that the old server has, now, what the whole files here are. */
#ifndef CTL_ABANDON_COMPARED_H
#define CTL_ABANDON_COMPARED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define COMPARED_DAYS 7 /* what was compared before may have been changed there since */

/*
 * status, proof: the retriever's answers (control.h); now: s since 1970.  All is here; the last run
 * is through, has read all files, met nothing that was not here yet, found nothing, and is not too
 * old.
 */
bool compared_whole(GKeyFile *status, GKeyFile *proof, int64_t now);

#endif
