/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bundle about a volume for support: one text, without names of files, users or hosts, and
 * without secrets.  Numbers are kept.  Of everything else only what stands in the programs
 * themselves is kept: a value that is one of their strings, and of messages each two words that are
 * neighbours there.  All else is "#".  The volume's name is kept.
 */
#ifndef CTL_DOCTOR_BUNDLE_H
#define CTL_DOCTOR_BUNDLE_H

#include "ctl/doctor/looks.h"

/* The words and strings that stand in the programs' files.  g_hash_table_unref. */
GHashTable *bundle_words(const char *const *programs);
/* text without what is not in words.  g_free. */
char *bundle_text(GHashTable *words, const char *text);

/* Makes the tar.gz, for its user alone; there must be none yet.  config_file: NULL: the usual one;
 * units: units_ask().  FALSE with error set, one line. */
gboolean bundle_write(const char *file, const struct doctor *doctor, const char *config_file,
		      const char *units, GError **error);

#endif
